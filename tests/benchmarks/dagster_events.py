"""What Dagster's bookkeeping costs a record, on each storage: prints a table.

    python tests/benchmarks/dagster_events.py [--records 300] [--storages plain,kept,postgres]

Calls take no time and leave half a minute of audio behind. `planned` is what passes before a run
can start, `settled` the run itself, attempt loop and metadata included, `events` the part of it
that writes events; milliseconds a record. `first call` is what passes from the launch to the first
live call, in seconds. Each storage is measured in a process and on an instance of its own. Other
work on the machine shows in the times, less so in the CPU time of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    folders = ["..", ".", "dagster/stack"]
    sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in folders]

import numpy as np
import yaml
from dagster import DagsterInstance
from evaluation_fakes import FakeCalls, write_evaluation
from postgres_server import postgres_programs, running_postgres

from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    MIXED_AUDIO_FILE,
    ConversationResult,
)
from orchestrator_assets.dagster_assets import build_evaluation_definitions, on_disk
from orchestrator_assets.dagster_assets.instance import HOME_VARIABLE, SHIPPED_INSTANCE_FILE
from orchestrator_assets.dagster_assets.launch import Launcher
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.records import Task

STORAGES = ("plain", "kept", "postgres")
TITLES = {
    "plain": "SQLite as Dagster ships it",
    "kept": "SQLite as shipped here",
    "postgres": "PostgreSQL",
}
AUDIO_SECONDS = 30
SAMPLE_RATE_HZ = 8000
POSTGRES_VARIABLE = "BENCHMARK_POSTGRES_URL"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--storages", default=",".join(STORAGES))
    parser.add_argument("--measure", choices=STORAGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(options.measure, options.records, Path(folder))))
        return
    print(f"{options.records} records\n")
    print("| storage | planned ms | settled ms | events ms | CPU ms | first call s |")
    print("|---|---|---|---|---|---|")
    for storage in options.storages.split(","):
        found = measured_apart(storage, options.records)
        cells = [f"{found[name]:.1f}" for name in ("planned", "settled", "events", "cpu", "first")]
        print(f"| {TITLES[storage]} | {' | '.join(cells)} |", flush=True)


def measured_apart(storage: str, records: int) -> dict[str, float]:
    """Measure in a new process, beside a server if need be."""
    with server_for(storage) as url:
        command = [sys.executable, __file__, "--measure", storage, "--records", str(records)]
        answer = subprocess.run(
            command,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {POSTGRES_VARIABLE: url},
        )
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found


@contextmanager
def server_for(storage: str) -> Iterator[str]:
    """Yield the URL of a database server, empty for storage that needs none."""
    if storage != "postgres":
        yield ""
        return
    programs = postgres_programs()
    if programs is None:
        raise SystemExit("there is no PostgreSQL server; on Debian: apt-get install postgresql")
    with running_postgres(programs) as server:
        yield server.url


def measure(storage: str, records: int, folder: Path) -> dict[str, float]:
    """Run an evaluation of so many records, and return milliseconds a record and seconds."""
    write_instance(storage, folder / "home")
    record_ids = [f"record_{number:05}" for number in range(records)]
    path = write_evaluation(folder / "evaluation", record_ids, max_concurrent_conversations=8)
    evaluation = load_evaluation(path)
    calls = AudibleCalls(folder)
    events = Stopwatch(on_disk.log_events)
    on_disk.log_events = events
    with DagsterInstance.get() as instance:
        definitions = build_evaluation_definitions(evaluation, create_run=calls.create_run)
        launcher = Launcher(instance, evaluation, definitions)
        started, cpu_before = time.perf_counter(), time.process_time()
        run = launcher.create_run(evaluation.load_tasks())
        planned = time.perf_counter()
        status = launcher.execute(run)
        ended, cpu_after = time.perf_counter(), time.process_time()
    assert status.value == "SUCCESS", status
    return {
        "planned": (planned - started) / records * 1e3,
        "settled": (ended - planned) / records * 1e3,
        "events": events.seconds / records * 1e3,
        "cpu": (cpu_after - cpu_before) / records * 1e3,
        "first": calls.first_call - started,
    }


def write_instance(storage: str, home: Path) -> None:
    """Write the shipped instance, with the storage to be measured."""
    settings = yaml.safe_load(SHIPPED_INSTANCE_FILE.read_text(encoding="utf-8"))
    if storage == "plain":
        del settings["storage"]
    elif storage == "postgres":
        settings["storage"] = {"postgres": {"postgres_url": {"env": POSTGRES_VARIABLE}}}
    home.mkdir()
    (home / "dagster.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    os.environ[HOME_VARIABLE] = str(home)


class AudibleCalls(FakeCalls):
    """Calls that take no time, and have the same audio every time."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.first_call = 0.0
        self._audio = folder / "audio.wav"
        samples = np.random.default_rng(0).normal(0, 3000, AUDIO_SECONDS * SAMPLE_RATE_HZ)
        with WavWriter(self._audio, SAMPLE_RATE_HZ) as writer:
            writer.append(samples.astype(np.int16))

    async def place_call(
        self, task: Task, attempt: int, directory: Path, slot: AbstractAsyncContextManager[object]
    ) -> ConversationResult:
        self.first_call = self.first_call or time.perf_counter()
        for name in (CALLER_AUDIO_FILE, AGENT_AUDIO_FILE, MIXED_AUDIO_FILE):
            (directory / name).hardlink_to(self._audio)
        return await super().place_call(task, attempt, directory, slot)


class Stopwatch:
    """A function, and the seconds spent in it."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self.seconds = 0.0

    def __call__(self, *arguments: Any, **options: Any) -> None:
        started = time.perf_counter()
        self._function(*arguments, **options)
        self.seconds += time.perf_counter() - started


if __name__ == "__main__":
    main()
