"""How close the attempt loop comes to the best possible, and what it costs: prints tables.

    python tests/benchmarks/loop.py [--sizes 100,500,1000,10000]

Makespans are simulated: calls take virtual seconds (see `virtual_time`), files are real, but on a
memory disk and without fsync. CPU and memory are measured in processes of their own, with calls
that take no time, real fsyncs and a real clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from virtual_time import run_in_virtual_time
from workload import MAX_ATTEMPTS, SLOTS, FakeCalls, Workload, index_of

from orchestrator_assets.attempts.events import read_events
from orchestrator_assets.attempts.history import history_of
from orchestrator_assets.attempts.loop import AttemptLimits, run_attempts
from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory

MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - a fast place, if there is one


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100,500,1000,10000")
    parser.add_argument("--seeds", type=int, default=3, help="workloads of each size")
    parser.add_argument("--measure", nargs=2, metavar=("N", "KIND"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(int(options.measure[0]), options.measure[1])))
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    print_makespans(sizes, options.seeds)
    print_costs(sizes)


def print_makespans(sizes: list[int], seeds: int) -> None:
    """Compare makespans with the bound, and with a barrier after each attempt."""
    print(
        "\n| N | bound s | barrier s | no history s | with history s | no history / barrier "
        "| with history / barrier | no history / bound | with history / bound |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for size in sizes:
        rows = [makespans(size, seed) for seed in range(1, seeds + 1 if size < 10_000 else 2)]
        bound, barrier, without, with_history = (
            sum(row[column] for row in rows) / len(rows) for column in range(4)
        )
        print(
            f"| {size} | {bound:.0f} | {barrier:.0f} | {without:.0f} | {with_history:.0f} "
            f"| {without / barrier:.2f} | {with_history / barrier:.2f} "
            f"| {without / bound:.3f} | {with_history / bound:.3f} |",
            flush=True,
        )


def makespans(size: int, seed: int) -> tuple[float, float, float, float]:
    """Return the bound, and the makespans of a barrier, of no history, and of history, seconds."""
    workload = Workload(size, seed)
    earlier = Workload(size, seed, run=1)
    with scratch_directory(MEMORY_DISK) as folder, patch("os.fsync"):
        barrier = run_in_virtual_time(run_with_barrier(workload))
        without = run_in_virtual_time(run(workload, folder / "alone" / "evaluation"))
        for name in ("earlier", "later"):
            write_config(folder / "both" / name)
        run_in_virtual_time(run(earlier, folder / "both" / "earlier"))
        with_history = run_in_virtual_time(run(workload, folder / "both" / "later"))
    return workload.lower_bound(), barrier, without, with_history


def write_config(root: Path) -> None:
    """Say that this run directory is of the one data set there is."""
    config = {"data_set": "/data/workload.jsonl", "provenance": {"dataset": {"sha256": None}}}
    root.mkdir(parents=True)
    (root / "config.json").write_text(json.dumps(config), encoding="utf-8")


async def run(workload: Workload, root: Path) -> float:
    """Run the attempt loop, and return the makespan in (virtual) seconds."""
    began = asyncio.get_running_loop().time()
    async for _ in attempts(workload.tasks(), workload, root):
        pass
    return asyncio.get_running_loop().time() - began


def attempts(tasks: list[Task], workload: Workload, root: Path) -> Iterator[TaskOutcome]:
    """Return the attempt loop over the workload."""
    calls = FakeCalls(workload)
    return run_attempts(
        tasks,
        run_directory=RunDirectory(root),
        place_call=calls.place_call,
        validate=calls.validate,
        compute_metrics=calls.compute_metrics,
        fingerprint=lambda _: "same",
        limits=AttemptLimits(MAX_ATTEMPTS, 1, SLOTS),
        run_id="benchmark",
        metric_names=(),
    )


async def run_with_barrier(workload: Workload) -> float:
    """Run all first attempts in data-set order, then all second ones, and so on: the baseline."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    slots = asyncio.Semaphore(SLOTS)

    async def call(index: int, attempt: int) -> None:
        async with slots:
            await asyncio.sleep(workload.seconds(index, attempt))

    left = list(range(workload.size))
    for attempt in range(1, MAX_ATTEMPTS + 1):
        await asyncio.gather(*(call(index, attempt) for index in left))
        left = [index for index in left if workload.fails(index, attempt)]
    return loop.time() - began


def print_costs(sizes: list[int]) -> None:
    """Print what a record costs, and how that grows."""
    print(
        "\n| N | wall ms | CPU ms | of that the stubs' | file threads' | the loop's own "
        "| memory MB at most | a record kB | journals read s | second run s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for size in sizes:
        whole, stubs = (in_own_process(size, kind) for kind in ("loop", "stubs"))
        own = whole["thread"] - stubs["cpu"]
        files = whole["cpu"] - whole["thread"]
        print(
            f"| {size} | {whole['wall'] / size * 1e3:.2f} | {whole['cpu'] / size * 1e3:.2f} "
            f"| {stubs['cpu'] / size * 1e3:.2f} | {files / size * 1e3:.2f} "
            f"| {own / size * 1e3:.2f} | {whole['memory'] / 1e3:.0f} "
            f"| {whole['grown'] / size:.2f} | {whole['journals']:.2f} | {whole['again']:.2f} |",
            flush=True,
        )


def in_own_process(size: int, kind: str) -> dict[str, float]:
    """Return what `measure` says in a fresh process."""
    command = [sys.executable, __file__, "--measure", str(size), kind]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(finished.stdout))


def measure(size: int, kind: str) -> dict[str, float]:
    """Run the loop, or only its stubs, with calls of no length: seconds, and kB of memory."""
    workload = Workload(size, scale=0.0)
    tasks = workload.tasks()
    with scratch_directory(None) as folder:
        before = memory("VmRSS")
        wall, cpu, thread = time.perf_counter(), time.process_time(), time.thread_time()
        if kind == "stubs":
            asyncio.run(run_stubs(tasks, workload, folder))
        else:
            asyncio.run(consume(tasks, workload, folder))
        wall = time.perf_counter() - wall
        cpu, thread = time.process_time() - cpu, time.thread_time() - thread
        peak = memory("VmHWM")
        spent = {"wall": wall, "cpu": cpu, "thread": thread, "memory": peak, "grown": peak - before}
        if kind == "stubs":
            return spent
        began = time.perf_counter()
        asyncio.run(consume(tasks, workload, folder))
        again = time.perf_counter() - began
        began = time.perf_counter()
        for task in tasks:
            history_of(read_events(RunDirectory(folder).journal(task)))
        return {**spent, "again": again, "journals": time.perf_counter() - began}


async def consume(tasks: list[Task], workload: Workload, folder: Path) -> None:
    """Run the loop to its end, keeping nothing."""
    async for _ in attempts(tasks, workload, folder):
        pass


async def run_stubs(tasks: list[Task], workload: Workload, folder: Path) -> None:
    """Do what the fakes do, without the loop."""
    calls = FakeCalls(workload)
    for task in tasks:
        directory = folder / task.key
        directory.mkdir()
        for attempt in range(1, len(workload.chain(index_of(task))) + 1):
            slot = asyncio.Semaphore()
            await calls.place_call(task, attempt, directory, slot)
            await calls.validate(task, directory, bypass_gate=False)


def memory(field: str) -> float:
    """Return a figure of proc(5)'s `status`, in kB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith(field)))


@contextmanager
def scratch_directory(parent: Path | None) -> Iterator[Path]:
    """Yield a directory that is removed afterwards."""
    if parent is not None and not os.access(parent, os.W_OK):
        parent = None
    folder = Path(tempfile.mkdtemp(prefix="loop-benchmark-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
