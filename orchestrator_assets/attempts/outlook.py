"""A glance at each task before an invocation begins: how long, and whether it will call."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator_assets.attempts.events import read_events
from orchestrator_assets.attempts.history import history_of
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory

logger = logging.getLogger(__name__)

SECONDS_PER_TURN = 12.0
"""A guess, used only to start the longest calls first."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of a task: the length of its call, and whether it calls straight away."""

    expected_seconds: float
    needs_call: bool


def expected_seconds_by_turns(task: Task) -> float:
    """Guess how long a task's call takes from its number of scripted turns."""
    return SECONDS_PER_TURN * len(task.record.turns)


def outlook(
    task: Task,
    *,
    run_directory: RunDirectory,
    mode: AttemptMode,
    calls: bool,
    expected_seconds: Callable[[Task], float],
) -> Outlook:
    """Return what to expect of a task. How long its earlier calls took beats the estimate."""
    try:
        history = history_of(read_events(run_directory.journal(task)))
    except RunDirectoryError:
        # Settling the task will meet the same error, and report it as the task's own.
        logger.debug("no outlook for %s", task.id, exc_info=True)
        return Outlook(expected_seconds(task), needs_call=False)
    durations = [
        attempt.duration_seconds for attempt in history.finished if attempt.duration_seconds > 0
    ]
    seconds = sum(durations) / len(durations) if durations else expected_seconds(task)
    empty = not run_directory.task_directory(task).exists()
    return Outlook(seconds, needs_call=calls and (empty or mode is AttemptMode.FORCE))
