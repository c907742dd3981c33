"""Where one task stands, read from the run directory alone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
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

logger = logging.getLogger(__name__)


class TaskStatus(StrEnum):
    """Every task has exactly one of these, so they add up to the total."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    PENDING = "pending"
    """Not tried yet, interrupted, or not judged: the next invocation has something to do."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task, its life, and its conversation: the accepted one, else the last attempt's if any.

    `scores` are those of an accepted conversation, validation metrics included.
    """

    task: Task
    status: TaskStatus
    history: TaskHistory = field(default_factory=TaskHistory)
    accepted: AcceptedAttempt | None = None
    directory: Path | None = None
    result: ConversationResult | None = None
    scores: Mapping[str, MetricScore] = field(default_factory=dict)

    @property
    def failures(self) -> list[PastAttempt]:
        """The attempts that did not pass, in order."""
        return [attempt for attempt in self.history.finished if not attempt.passed]

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
    resident = find_resident(run_directory, task, history)
    accepted = standing_acceptance(history, resident)
    if accepted is not None and resident is not None:
        directory = run_directory.task_directory(task)
        return TaskState(
            task,
            TaskStatus.ACCEPTED,
            history,
            accepted,
            directory,
            resident.result,
            _scores(directory),
        )
    last = history.last
    if last is None:
        return TaskState(task, TaskStatus.PENDING, history)
    lost = history.accepted is not None
    failed = not (lost or last.interrupted or last.needs_judging or last.passed)
    directory = run_directory.archive_directory(task, last.number)
    if not directory.is_dir():
        directory = run_directory.task_directory(task)
    return TaskState(
        task,
        TaskStatus.FAILED if failed else TaskStatus.PENDING,
        history,
        directory=directory,
        result=read_result(directory),
    )


def _scores(directory: Path) -> dict[str, MetricScore]:
    try:
        return read_scores(directory)
    except ConversationFileError as error:
        logger.warning("no scores: %s", error)
        return {}
