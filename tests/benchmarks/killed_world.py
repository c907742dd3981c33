"""The run that the kill matrix kills: twelve tasks that live through everything a task can."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from scripted_world import BAD_CALLER, BAD_TIMEOUT, GOOD, HANGUP, TIMEOUT, Call, World, task

from orchestrator_assets.attempts import task_files
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.records import Task
from orchestrator_assets.store import atomic
from orchestrator_assets.store.journal import Journal

SCRIPTS: Mapping[str, list[Call]] = {
    "good": [GOOD],
    "bad caller": [BAD_CALLER, GOOD],
    "hung up": [HANGUP, BAD_CALLER, GOOD],
    "restored": [TIMEOUT, BAD_TIMEOUT],
    "timed out": [HANGUP, TIMEOUT, TIMEOUT],
    "used up": [HANGUP, BAD_CALLER, HANGUP, BAD_CALLER],
    "stopped early": [HANGUP, HANGUP, HANGUP],
    "unjudged": [GOOD],
}
"""What happens to a record's trials, call by call, up to where no further call may follow."""

MAX_ATTEMPTS = 4
TIME_LIMITED = 2
CALL_SECONDS = 0.01
Step = Callable[[str], None]


def all_tasks() -> list[Task]:
    """Return the tasks: two trials of the records that are called more than once."""
    return [
        task(name, trial=trial)
        for name, script in SCRIPTS.items()
        for trial in range(2 if len(script) > 1 else 1)
    ]


class KilledWorld(World):
    """A world that sees from the disk how many calls there were, as its memory dies with it."""

    step: Step

    async def place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        """Call for a moment, and leave what the script says."""
        script = SCRIPTS[task.record.id]
        ended = len(results_of(self, task))
        if ended >= len(script):
            raise AssertionError(f"call {ended + 1} of {task.id}, which was over")
        async with slot:
            (directory / "audio_user.wav").write_bytes(b"half a recording")
            self.step("call")
            await asyncio.sleep(random.uniform(0, CALL_SECONDS))
        return self.leave_files(task, attempt, directory, script[ended])


def results_of(world: World, task: Task) -> list[Path]:
    """Return the result files of a task's calls that ended, wherever they lie."""
    directory = world.run_directory.task_directory(task)
    own = list(directory.parent.glob(f"{directory.name}*"))
    return [path for each in own for path in each.rglob("result.json")]


def open_tasks(world: World) -> list[Task]:
    """Return the tasks a resumed run is for: all but those that have finally failed."""

    def has_failed(one: Task) -> bool:
        return any(entry["event"] == "gave_up" for entry in world.journal(one))

    return [each for each in all_tasks() if not has_failed(each)]


def run_to_the_end(root: Path, step: Step) -> None:
    """Settle what is open; `step` hears of everything that changes the disk, before and after."""
    world = KilledWorld(root)
    world.step = step
    world.judge_outages["unjudged/trial_0"] = 10**9
    with (
        patch.object(Journal, "append", stepping_append(step)),
        patch.object(
            task_files, "move_directory", stepping(step, "move", task_files.move_directory)
        ),
        patch.object(atomic, "write_bytes", stepping(step, "file", atomic.write_bytes)),
        patch.object(os, "fsync"),  # It is the process that dies, not the machine.
    ):
        asyncio.run(
            world.run(
                *open_tasks(world),
                max_attempts=MAX_ATTEMPTS,
                time_limited=TIME_LIMITED,
                concurrent=3,
            )
        )


def stepping(step: Step, kind: str, function: Callable[..., None]) -> Callable[..., None]:
    """Return `function` with steps before and after it."""

    def wrapped(*args: Any) -> None:
        step(f"before a {kind}")
        function(*args)
        step(f"after a {kind}")

    return wrapped


def stepping_append(step: Step) -> Callable[..., None]:
    """Return `Journal.append` with steps before, in the middle of, and after the line."""
    append = Journal.append

    def wrapped(self: Journal, entry: Mapping[str, Any]) -> None:
        event = entry["event"] if "attempt" in entry else f"run {entry['event']}"
        step(f"before {event}")
        step(f"torn {event}:{self.path}")
        append(self, entry)
        step(f"after {event}")

    return wrapped


def die(kind: str, report: int) -> None:
    """Kill this process and all of its group, after telling where."""
    name, _, journal = kind.partition(":")
    if journal:
        with Path(journal).open("ab") as file:
            file.write(b'{"event": "started", "attem')
    os.write(report, name.encode())
    os.killpg(os.getpgrp(), signal.SIGKILL)
