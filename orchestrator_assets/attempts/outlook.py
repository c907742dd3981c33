"""A glance at each task before an invocation begins: how long, and whether it will call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from orchestrator_assets.attempts.earlier_durations import EarlierDurations, mean_call_seconds
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

    task: Task
    expected_seconds: float
    needs_call: bool


def expected_seconds_by_turns(task: Task) -> float:
    """Guess how long a task's call takes from its number of scripted turns."""
    return SECONDS_PER_TURN * len(task.record.turns)


def outlooks(
    tasks: Iterable[Task],
    *,
    run_directory: RunDirectory,
    mode: AttemptMode,
    calls: bool,
    expected_seconds: Callable[[Task], float],
) -> list[Outlook]:
    """Return what to expect of the tasks, the longest expected call first.

    How long the task's own earlier calls took beats how long its record took in other evaluations
    of the same data set, which beats the estimate.
    """
    elsewhere = EarlierDurations(run_directory)
    known = run_directory.journal_names()

    def outlook(task: Task) -> Outlook:
        empty = not run_directory.task_directory(task).exists()
        needs_call = calls and (empty or mode is AttemptMode.FORCE)
        seconds = None
        if run_directory.journal(task).path.name in known:
            try:
                seconds = mean_call_seconds(run_directory.journal(task))
            except RunDirectoryError:
                # Settling the task will meet the same error, and report it as the task's own.
                logger.debug("no outlook for %s", task.id, exc_info=True)
                needs_call = False
        if seconds is None and calls:
            seconds = elsewhere.seconds(task)
        return Outlook(task, expected_seconds(task) if seconds is None else seconds, needs_call)

    return sorted(map(outlook, tasks), key=lambda each: -each.expected_seconds)
