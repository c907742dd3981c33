"""A script that calls in two workers until it is killed. It is not guarded against being imported.

Its argument is the folder for all files. Each time its code runs it adds a line to `starts`.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from pathlib import Path

from worker_fakes import AGENT, FakeCalls

from orchestrator_assets.call.worker_pool import WorkerPool
from orchestrator_assets.evaluation import Agent, Evaluation
from orchestrator_assets.records import Record, Task

ROOT = Path(sys.argv[1])
with (ROOT / "starts").open("a") as starts:
    starts.write("started\n")


async def call() -> None:
    evaluation = Evaluation(
        name="test",
        data_set=Path("unused"),
        agent=Agent(url="ws://unused"),
        max_concurrent_conversations=2,
        calls_per_worker=1,
        output_dir=ROOT,
    )
    async with WorkerPool(evaluation, AGENT, make_placer=FakeCalls) as place_call:
        await asyncio.gather(
            *(
                place_call(Task(Record(id=name)), 1, ROOT / name, nullcontext())
                for name in ("ends", "hangs")
            )
        )


asyncio.run(call())
