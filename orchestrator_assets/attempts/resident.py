"""What lies in a task's directory, and which attempt left it there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from orchestrator_assets.attempts.history import AcceptedAttempt, TaskHistory
from orchestrator_assets.call.conversation import RESULT_FILE, ConversationResult, EndReason
from orchestrator_assets.records import Task
from orchestrator_assets.store.atomic import write_json, write_text
from orchestrator_assets.store.run_directory import RunDirectory


@dataclass(frozen=True, slots=True)
class Resident:
    """The attempt in a task's directory. `result` is None where there is no usable result.json."""

    number: int
    result: ConversationResult | None

    @property
    def ended(self) -> bool:
        """Whether the call came to an end of its own, and so can be judged."""
        return (
            self.result is not None
            and self.result.conversation_ended_reason is not EndReason.CANCELLED
        )


def find_resident(run_directory: RunDirectory, task: Task, history: TaskHistory) -> Resident | None:
    """Return the attempt in the task's directory; None if the directory is missing or empty.

    The result says which attempt it is. Without one it is the latest attempt that has no archive.
    What no attempt of this task left takes the next free number.
    """
    directory = run_directory.task_directory(task)
    if not directory.is_dir() or not any(directory.iterdir()):
        return None
    result = read_result(directory)
    if (
        result is not None
        and result.task_id == task.id
        and _is_free(run_directory, task, result.attempt)
    ):
        return Resident(result.attempt, result)
    if result is None:
        for number in sorted(history.attempts, reverse=True):
            if _is_free(run_directory, task, number):
                return Resident(number, None)
    return Resident(next_number(run_directory, task, history), None)


def standing_acceptance(history: TaskHistory, resident: Resident | None) -> AcceptedAttempt | None:
    """Return the acceptance, if the accepted conversation is still there.

    One whose directory was deleted, or whose result can't be read, counts no more.
    """
    accepted = history.accepted
    if accepted is None or resident is None or not resident.ended:
        return None
    return accepted if accepted.number == resident.number else None


def next_number(run_directory: RunDirectory, task: Task, history: TaskHistory) -> int:
    """Return the number of the task's next attempt: one that neither journal nor archive knows."""
    number = history.last_number + 1
    while not _is_free(run_directory, task, number):
        number += 1
    return number


def _is_free(run_directory: RunDirectory, task: Task, number: int) -> bool:
    return not run_directory.archive_directory(task, number).exists()


def read_result(directory: Path) -> ConversationResult | None:
    """Return the directory's result.json; None if it is missing, damaged or not one of ours."""
    try:
        text = (directory / RESULT_FILE).read_text(encoding="utf-8")
        return ConversationResult.model_validate_json(text)
    except (OSError, ValueError):
        return None


def write_result(directory: Path, result: ConversationResult) -> None:
    """Write the directory's result.json."""
    write_text(directory / RESULT_FILE, result.model_dump_json(indent=2) + "\n")


def mark_time_limit_accepted(directory: Path) -> None:
    """Say in the directory's result.json that it was accepted although it ran into the limit."""
    path = directory / RESULT_FILE
    content = json.loads(path.read_text(encoding="utf-8"))
    write_json(path, {**content, "time_limit_accepted": True})
