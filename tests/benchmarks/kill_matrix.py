"""Kills a run with SIGKILL again and again, resumes it, and checks that nothing is lost or twice.

    python tests/benchmarks/kill_matrix.py [--kills 200] [--seed 1]

Each kill takes the whole process group: at a step that changes the disk (before, after, in the
middle of a line) or at a random instant, up to four in a row before the run may come to its end.
Exits with 1 if anything was lost, repeated, counted twice or told differently.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(path) for path in Path(__file__).resolve().parents[:3]]

from killed_world import (
    SCRIPTS,
    KilledWorld,
    all_tasks,
    die,
    results_of,
    run_to_the_end,
)

from orchestrator_assets.attempts.events import read_events
from orchestrator_assets.attempts.history import history_of
from orchestrator_assets.summary.writing import write_summaries

FAULTS = ("calls repeated", "attempts lost", "counted twice", "nested", "summaries that differ")
MOST_IN_A_ROW = 4
RANDOM_SHARE = 0.3
ENDED = 0


@dataclass
class Matrix:
    """What came of the kills, by the kind of step they hit."""

    kills: Counter[str] = field(default_factory=Counter)
    faults: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, kinds: Sequence[str], faults: Counter[str]) -> None:
        """Add one run that was killed at these steps and then came to its end."""
        self.kills.update(kinds)
        for kind in set(kinds):
            self.faults[kind].update(faults)

    def print(self) -> None:
        """Print the table, in Markdown."""
        print(f"| killed | kills | {' | '.join(FAULTS)} |")
        print(f"|---|{'---|' * (len(FAULTS) + 1)}")
        for kind in sorted(self.kills):
            counts = " | ".join(str(self.faults[kind][fault]) for fault in FAULTS)
            print(f"| {kind} | {self.kills[kind]} | {counts} |")
        sums = " | ".join(str(self.total(fault)) for fault in FAULTS)
        print(f"| **all** | **{self.kills.total()}** | {sums} |")

    def total(self, fault: str) -> int:
        """Return how often something was wrong."""
        return sum(counts[fault] for counts in self.faults.values())


def main() -> int:
    """Kill as often as asked, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with scratch_directory() as folder:
        matrix = fill(Matrix(), folder, options.kills, rng)
    matrix.print()
    return 1 if any(map(matrix.total, FAULTS)) else 0


def fill(matrix: Matrix, folder: Path, kills: int, rng: random.Random) -> Matrix:
    """Kill run after run until there were enough kills."""
    began = time.monotonic()
    assert run(folder / "whole", kill_at=0) is None
    seconds = time.monotonic() - began
    expected = summary(folder / "whole")
    steps = step_kinds(folder / "whole-again")
    while matrix.kills.total() < kills:
        root = folder / f"killed-{matrix.kills.total()}"
        kinds: list[str] = []
        for _ in range(min(rng.randint(1, MOST_IN_A_ROW), kills - matrix.kills.total())):
            if rng.random() < RANDOM_SHARE:
                kind = run(root, kill_after=rng.uniform(0, seconds))
            else:
                # The kinds in turn, so that rare ones get their share.
                least = min(steps, key=lambda each: (matrix.kills[each] + kinds.count(each), each))
                kind = run(root, kill_at=rng.choice(steps[least]), kill_kind=least)
            if kind is None:
                break  # It came to its end first.
            kinds.append(kind)
        assert run(root, kill_at=0) is None
        matrix.add(kinds, check(root, expected))
        shutil.rmtree(root)
    return matrix


def step_kinds(root: Path) -> dict[str, list[int]]:
    """Return for each kind of step how many of it, from 1 on, a whole run has."""
    kinds: Counter[str] = Counter()
    run_to_the_end(root, lambda kind: kinds.update([kind.partition(":")[0]]))
    return {kind: list(range(1, count + 1)) for kind, count in kinds.items()}


def run(
    root: Path, *, kill_at: int = 0, kill_kind: str = "", kill_after: float | None = None
) -> str | None:
    """Run in a process group of its own; return at which kind of step it was killed, if it was.

    It dies at the n-th step of a kind, or after some seconds; never if neither is given.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os._exit(run_as_child(root, kill_at, kill_kind, writing))
    os.close(writing)
    if kill_after is not None:
        time.sleep(kill_after)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        kind = pipe.read().decode()
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL:
        return kind or "at a random instant"
    if code != ENDED:
        raise RuntimeError(f"the run in {root} failed with {code}")
    return None


def run_as_child(root: Path, kill_at: int, kill_kind: str, report: int) -> int:
    seen = 0

    def step(kind: str) -> None:
        nonlocal seen
        if kill_at and kind.partition(":")[0] == kill_kind:
            seen += 1
            if seen == kill_at:
                die(kind, report)

    random.seed(os.getpid())
    logging.disable()
    try:
        run_to_the_end(root, step)
    except BaseException as error:  # noqa: BLE001 - the process ends here
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return ENDED


def summary(root: Path) -> dict[str, Any]:
    """Return evaluation_summary.json but for times and ids; interruptions use up numbers."""
    world = KilledWorld(root)
    write_summaries(world.run_directory, all_tasks())
    text = world.run_directory.evaluation_summary_path.read_text(encoding="utf-8")
    written = dict(json.loads(text))
    for name in ("started_at", "ended_at", "duration_seconds", "runs"):
        written.pop(name)
    written["attempts"].pop("interrupted")
    histories = list(written["rerun_history"].values())
    for entry in [*written["final_failures"].values(), *(e for each in histories for e in each)]:
        entry.pop("attempt")
        # It names the attempt in words.
        entry.pop("stopped_early", None)
    return written


def check(root: Path, expected: dict[str, Any]) -> Counter[str]:
    """Return what is wrong with a run that has come to its end."""
    world = KilledWorld(root)
    faults: Counter[str] = Counter()
    for task in all_tasks():
        script = SCRIPTS[task.record.id]
        results = results_of(world, task)
        history = history_of(read_events(world.run_directory.journal(task)))
        ended = [result for result in results if result.parent.parent == task_parent(world, task)]
        faults["nested"] += len(results) - len(ended)
        faults["calls repeated"] += max(0, len(results) - len(script))
        faults["attempts lost"] += max(0, len(script) - min(len(results), len(history.finished)))
        faults["counted twice"] += max(0, len(history.finished) - len(results))
        started = Counter(e["attempt"] for e in world.journal(task) if e["event"] == "started")
        faults["counted twice"] += sum(count - 1 for count in started.values())
    faults["summaries that differ"] += summary(root) != expected
    return faults


def task_parent(world: KilledWorld, task: Any) -> Path:
    """Return the directory that holds the task's own and its archives."""
    return world.run_directory.task_directory(task).parent


@contextlib.contextmanager
def scratch_directory() -> Iterator[Path]:
    """Yield a directory that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="kill-matrix-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
