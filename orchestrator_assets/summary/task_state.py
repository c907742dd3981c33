"""Where one task stands, read from the run directory alone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from orchestrator_assets.attempts.events import read_events
from orchestrator_assets.attempts.history import (
    AcceptedAttempt,
    PastAttempt,
    TaskHistory,
    history_of,
)
from orchestrator_assets.attempts.resident import find_resident, read_result, standing_acceptance
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.errors import ConversationFileError, RunDirectoryError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import read_scores
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.generic_errors import has_generic_error

logger = logging.getLogger(__name__)


class TaskStatus(StrEnum):
    """Every task has exactly one of these, so they add up to the total."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    PENDING = "pending"
    """Not tried yet, interrupted, not judged, or to be tried again: its try is not over."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task, its life, and its conversation: the accepted one, else the last attempt's if any.

    `scores` are those of an accepted conversation, validation metrics included; `first_scores` what
    is known of the scores of its first attempt (`first_attempt`), accepted or archived.
    """

    task: Task
    status: TaskStatus
    history: TaskHistory = field(default_factory=TaskHistory)
    accepted: AcceptedAttempt | None = None
    directory: Path | None = None
    result: ConversationResult | None = None
    scores: Mapping[str, MetricScore] = field(default_factory=dict)
    first_scores: Mapping[str, MetricScore] = field(default_factory=dict)
    generic_error: bool = False

    @property
    def failures(self) -> list[PastAttempt]:
        """The attempts that did not pass, in order."""
        return [attempt for attempt in self.history.finished if not attempt.passed]

    @property
    def invalid(self) -> list[PastAttempt]:
        """The attempts that did not pass, and were not accepted either."""
        accepted = None if self.accepted is None else self.accepted.number
        return [attempt for attempt in self.failures if attempt.number != accepted]

    @property
    def shown_attempt(self) -> PastAttempt | None:
        """The accepted attempt, else the last one."""
        if self.accepted is not None:
            return self.history.attempts.get(self.accepted.number)
        return self.history.last


def read_task_state(run_directory: RunDirectory, task: Task) -> TaskState:
    """Return where the task stands. Damaged files are logged, and make it pending."""
    try:
        history = history_of(read_events(run_directory.journal(task)))
    except RunDirectoryError as error:
        logger.warning("task %s counts as pending: %s", task.id, error)
        return TaskState(task, TaskStatus.PENDING)
    last = history.last
    resident = find_resident(run_directory, task, history)
    accepted = standing_acceptance(history, resident)
    directory = run_directory.task_directory(task)
    if accepted is not None and resident is not None:
        status, result = TaskStatus.ACCEPTED, resident.result
    elif last is None:
        return TaskState(task, TaskStatus.PENDING, history)
    else:
        status = TaskStatus.FAILED if has_failed(history) else TaskStatus.PENDING
        archive = run_directory.archive_directory(task, last.number)
        directory = archive if archive.is_dir() else directory
        result = read_result(directory)
    state = TaskState(
        task,
        status,
        history,
        accepted,
        directory,
        result,
        scores={} if accepted is None else _scores(directory),
        generic_error=has_generic_error(directory),
    )
    return replace(state, first_scores=_first_scores(run_directory, state))


def has_failed(history: TaskHistory) -> bool:
    """Tell whether a task was tried, did not succeed, and is not in the middle of its try."""
    last = history.last
    if last is None or history.accepted is not None:
        return False
    if last.interrupted or last.needs_judging or last.passed:
        return False
    return last.number <= history.settled_number


def first_attempt(state: TaskState) -> PastAttempt | None:
    """Return the first attempt that was made under the conditions of the one that is shown."""
    shown = state.shown_attempt
    if shown is None:
        return None
    alike = (each for each in state.history.finished if each.fingerprint == shown.fingerprint)
    return next(alike, None)


def _first_scores(run_directory: RunDirectory, state: TaskState) -> Mapping[str, MetricScore]:
    first = first_attempt(state)
    if first is None:
        return {}
    if state.accepted is not None and state.accepted.number == first.number:
        return state.scores
    archive = run_directory.archive_directory(state.task, first.number)
    return _scores(archive) if archive.is_dir() else {}


def _scores(directory: Path) -> dict[str, MetricScore]:
    try:
        return read_scores(directory)
    except ConversationFileError as error:
        logger.warning("no scores: %s", error)
        return {}
