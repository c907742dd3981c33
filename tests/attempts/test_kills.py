"""Killed at every step that makes something durable, and run again: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from scripted_world import BAD_CALLER, BAD_TIMEOUT, TIMEOUT, World, task

from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.records import Task
from orchestrator_assets.summary.evaluation_summary import evaluation_summary
from orchestrator_assets.summary.task_state import read_task_state

A = task("a")
SCRIPT = [BAD_CALLER, TIMEOUT, BAD_TIMEOUT]
"""With two time-limited attempts the second of these is restored from its archive at the end."""

KILLED = 9


class RememberingWorld(World):
    """A world that sees from the disk how many calls there were, as its memory dies with it."""

    async def place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        ended = len(list(self.run_directory.records_path.rglob("result.json")))
        (directory / "logs.log").write_text("preparing\n")
        async with slot:
            await asyncio.sleep(0)
        return self.leave_files(task, attempt, directory, SCRIPT[ended])


def run_and_kill(world: World, at_step: int) -> bool:
    """Run in a process of its own that dies before its n-th fsync; return whether it did."""
    child = os.fork()
    if child == 0:
        die_at_step(at_step)
        try:
            asyncio.run(world.settle(A, time_limited=2, max_attempts=3))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == KILLED


def die_at_step(at_step: int) -> None:
    steps = 0

    def die_in_time(_: int) -> None:
        # Files need not reach the disk: it is the process that dies, not the machine.
        nonlocal steps
        steps += 1
        if steps == at_step:
            os._exit(KILLED)

    os.fsync = die_in_time


def what_counts(world: World) -> dict[str, Any]:
    """Return the summary without numbers and times, which a kill may shift."""
    summary = evaluation_summary([read_task_state(world.run_directory, A)], [])
    attempts = {name: value for name, value in summary["attempts"].items() if name != "interrupted"}
    history = [entry["reason"] for entry in summary["rerun_history"]["a"]]
    return {"simulation": summary["simulation"], "attempts": attempts, "history": history}


def check(world: World, expected: dict[str, Any]) -> None:
    records = world.run_directory.records_path
    results = sorted(records.rglob("result.json"))
    assert len(results) == len(SCRIPT), "a call that had ended was repeated, or lost"
    assert all(path.parent.parent == records for path in results), "a directory was nested"
    assert what_counts(world) == expected
    numbers = [entry["attempt"] for entry in world.journal(A) if entry["event"] == "started"]
    assert len(numbers) == len(set(numbers)), "an attempt number was used twice"


@pytest.mark.parametrize("kills", [1, 2])
def test_a_kill_at_any_step_repeats_no_ended_call_and_loses_none(
    tmp_path: Path, kills: int
) -> None:
    # Forking the test's own process, with the threads of its speech engines, might hang.
    finished = subprocess.run(
        [sys.executable, __file__, str(tmp_path), str(kills)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr


def test_kills_of_whole_process_groups_at_steps_and_at_random_lose_nothing() -> None:
    benchmark = Path(__file__).parents[1] / "benchmarks" / "kill_matrix.py"

    finished = subprocess.run(
        [sys.executable, str(benchmark), "--kills", "12", "--seed", "3"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "| **all** | **12** | 0 | 0 | 0 | 0 | 0 |" in finished.stdout


def kill_at_every_step(root: Path, kills: int) -> None:
    whole = RememberingWorld(root / "whole")
    assert not run_and_kill(whole, at_step=0)
    expected = what_counts(whole)
    assert expected["history"] == [
        "validation_failed",
        "time_limit_exceeded",
        "time_limit_exceeded",
    ]
    assert expected["simulation"]["time_limit_accepted_record_ids"] == ["a"]
    step = 1
    while True:
        world = RememberingWorld(root / f"killed-{step}")
        if not run_and_kill(world, at_step=step):
            break
        if kills > 1:
            run_and_kill(world, at_step=step // 2 + 1)
        run_and_kill(world, at_step=0)
        check(world, expected)
        step += 1
    assert step > 30


if __name__ == "__main__":
    kill_at_every_step(Path(sys.argv[1]), int(sys.argv[2]))
