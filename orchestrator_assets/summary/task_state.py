"""Where one task stands, read from the run directory alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from orchestrator_assets.attempts.events import AttemptEvent, read_events
from orchestrator_assets.attempts.history import (
    AcceptedAttempt,
    PastAttempt,
    TaskHistory,
    history_of,
)
from orchestrator_assets.attempts.resident import find_resident, read_result, standing_acceptance
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.errors import ConversationFileError, RunDirectoryError
from orchestrator_assets.judges.ledger import judge_use
from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import Composites
from orchestrator_assets.metrics.scores import read_scores
from orchestrator_assets.records import Task
from orchestrator_assets.store.journal import Journal
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.bare_journal import read_verdicts
from orchestrator_assets.summary.bare_scores import read_bare_scores
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

    `scores` are those of an accepted conversation, validation metrics included, and `composites`
    what the evaluation makes of them; `first_scores` what is known of the scores of its first
    attempt (`first_attempt`), accepted or archived. `judge_use` is what judging any of its attempts
    has cost, by metric.
    """

    task: Task
    status: TaskStatus
    history: TaskHistory = field(default_factory=TaskHistory)
    accepted: AcceptedAttempt | None = None
    directory: Path | None = None
    result: ConversationResult | None = None
    scores: Mapping[str, MetricScore] = field(default_factory=dict)
    composites: Mapping[str, MetricScore] = field(default_factory=dict)
    first_scores: Mapping[str, MetricScore] = field(default_factory=dict)
    generic_error: bool = False
    judge_use: Mapping[str, Sequence[JudgeUse]] = field(default_factory=dict)

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


@dataclass(frozen=True, slots=True)
class _Reading:
    events: Callable[[Journal], list[AttemptEvent]]
    scores: Callable[[Path], dict[str, MetricScore]]


def read_task_state(
    run_directory: RunDirectory,
    task: Task,
    composites: Composites | None = None,
    *,
    details: bool = True,
) -> TaskState:
    """Return where the task stands. Damaged files are logged, and make it pending.

    Without `details`, scores have none, which is what summaries of many tasks need.
    """
    reading = _WITH_DETAILS if details else _BARE
    try:
        history = history_of(reading.events(run_directory.journal(task)))
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
    scores = {} if accepted is None else _scores(directory, reading)
    made_of_them = {}
    if composites is not None and accepted is not None:
        made_of_them = composites.scores(scores, evidence=details)
    state = TaskState(
        task,
        status,
        history,
        accepted,
        directory,
        result,
        scores=scores,
        composites=made_of_them,
        generic_error=has_generic_error(directory),
        judge_use=_judge_use(run_directory, task, history, accepted),
    )
    return replace(state, first_scores=_first_scores(run_directory, state, reading))


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


def _first_scores(
    run_directory: RunDirectory, state: TaskState, reading: _Reading
) -> Mapping[str, MetricScore]:
    first = first_attempt(state)
    if first is None:
        return {}
    if state.accepted is not None and state.accepted.number == first.number:
        return state.scores
    archive = run_directory.archive_directory(state.task, first.number)
    return _scores(archive, reading) if archive.is_dir() else {}


def _scores(directory: Path, reading: _Reading) -> dict[str, MetricScore]:
    try:
        return reading.scores(directory)
    except ConversationFileError as error:
        logger.warning("no scores: %s", error)
        return {}


def _judge_use(
    run_directory: RunDirectory, task: Task, history: TaskHistory, accepted: AcceptedAttempt | None
) -> dict[str, list[JudgeUse]]:
    """Return what judging the task's attempts has cost, by metric."""
    directories = [run_directory.task_directory(task)]
    directories += [
        run_directory.archive_directory(task, number)
        for number in sorted(history.attempts)
        if accepted is None or number != accepted.number
    ]
    spent: dict[str, list[JudgeUse]] = {}
    for directory in directories:
        try:
            of_attempt = judge_use(directory)
        except (OSError, RunDirectoryError) as error:
            logger.warning("what judging %s has cost is not known: %s", task.id, error)
            continue
        for metric, use in of_attempt.items():
            spent.setdefault(metric, []).append(use)
    return spent


def _bare_events(journal: Journal) -> list[AttemptEvent]:
    try:
        return read_verdicts(journal)
    except RunDirectoryError:
        # That takes some JSON that the quicker parser refuses.
        return read_events(journal)


_WITH_DETAILS = _Reading(read_events, read_scores)
_BARE = _Reading(_bare_events, read_bare_scores)
