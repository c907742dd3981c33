"""How late caller frames leave with all calls in one process, and with worker processes.

    python tests/benchmarks/workers.py [--calls 10,20,30,40] [--seconds 15]

Calls run on the wall clock against an agent that echoes every frame, in a process of its own. A
frame is due every 20 ms; p50, p99 and max are over the calls: the median call's, the worst call's,
the worst call's. "Judging" means that a thread of the run's own process computes all the while, as
validation, metrics and Dagster's events do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from tone_calls import echoing_agent, evaluation_of, task, tone_placer

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.call.worker_messages import Placer
from orchestrator_assets.call.worker_pool import WorkerPool
from orchestrator_assets.evaluation import Evaluation

Measured = tuple[list[ConversationResult], float]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", default="10,20,30,40")
    parser.add_argument("--seconds", type=float, default=15)
    options = parser.parse_args()
    print(
        "| calls | where | late p50 ms | p99 ms | max ms | wall s for "
        f"{options.seconds:g} s | connected |"
    )
    print("|---|---|---|---|---|---|---|")
    for calls in map(int, options.calls.split(",")):
        for beside, busy in (("", nullcontext), (", judging", busy_thread)):
            for where, measure in (("one process", in_one_process), ("workers", in_workers)):
                with busy():
                    results, seconds = asyncio.run(run(measure, calls, options.seconds))
                print_row(calls, where + beside, results, seconds)


@contextmanager
def busy_thread() -> Iterator[None]:
    """Compute in another thread of this process."""
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            json.dumps([{"text": str(number)} for number in range(1_000)])

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


async def run(
    measure: Callable[[Evaluation, AgentAddress, Path], Awaitable[Measured]],
    calls: int,
    seconds: float,
) -> Measured:
    """Hold so many calls at once."""
    with tempfile.TemporaryDirectory() as folder, echoing_agent() as address:
        evaluation = evaluation_of(calls, seconds, Path(folder))
        return await measure(evaluation, address, Path(folder))


async def in_one_process(evaluation: Evaluation, address: AgentAddress, root: Path) -> Measured:
    """Hold all calls in this process."""
    return await place_all(tone_placer(evaluation, address), evaluation, root)


async def in_workers(evaluation: Evaluation, address: AgentAddress, root: Path) -> Measured:
    """Hold the calls in worker processes."""
    async with WorkerPool(evaluation, address, make_placer=tone_placer) as pool:
        return await place_all(pool, evaluation, root)


async def place_all(place_call: Placer, evaluation: Evaluation, root: Path) -> Measured:
    """Place as many calls as may be live, all going live together; time from then on."""
    count = evaluation.max_concurrent_conversations
    together = asyncio.Barrier(count)
    began: list[float] = []

    class Together(AbstractAsyncContextManager[None]):
        async def __aenter__(self) -> None:
            await together.wait()
            began.append(time.monotonic())

        async def __aexit__(self, *error: object) -> None:
            ended.append(time.monotonic())

    ended: list[float] = []
    results = await asyncio.gather(
        *(
            place_call(task(number), 1, root / f"call_{number}", Together())
            for number in range(count)
        )
    )
    return list(results), max(ended) - min(began)


def print_row(calls: int, where: str, results: list[ConversationResult], seconds: float) -> None:
    """Print one measurement."""
    lateness = [result.frame_lateness for result in results if result.frame_lateness is not None]
    p50 = statistics.median(late.p50_ms for late in lateness)
    p99 = max(late.p99_ms for late in lateness)
    worst = max(late.max_ms for late in lateness)
    print(
        f"| {calls} | {where} | {p50:.1f} | {p99:.1f} | {worst:.1f} | {seconds:.1f} "
        f"| {len(lateness)} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
