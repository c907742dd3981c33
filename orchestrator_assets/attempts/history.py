"""A task's whole life, derived from its journal by pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from orchestrator_assets.attempts.events import AttemptEvent, AttemptEventKind
from orchestrator_assets.attempts.outcomes import Acceptance, AttemptSummary, Cause, Outcome
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.validation.result import ValidationResult

_SETTLES = {AttemptEventKind.ACCEPTED, AttemptEventKind.GAVE_UP}


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """What the journal knows of an attempt.

    `outcome` is None until it has been judged, `metric_names` until it has been scored.
    """

    number: int
    run_id: str
    fingerprint: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    ended_reason: EndReason | None = None
    duration_seconds: float = 0.0
    cancelled: bool = False
    outcome: Outcome | None = None
    cause: Cause | None = None
    reason: str = ""
    validation: ValidationResult | None = None
    metric_names: frozenset[str] | None = None
    stopped_early: str | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped or killed during the call. Such an attempt counts nowhere."""
        return self.ended_at is None and self.outcome is None

    @property
    def passed(self) -> bool:
        """Whether the conversation was found valid."""
        return self.outcome is Outcome.PASSED

    @property
    def needs_judging(self) -> bool:
        """Whether there is no verdict yet, or one that a judge left open."""
        return self.outcome is None or self.outcome is Outcome.UNJUDGED


@dataclass(frozen=True, slots=True)
class AcceptedAttempt:
    """Which attempt makes the task successful, and why."""

    number: int
    acceptance: Acceptance


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """All attempts by number, the accepted one, and the highest number ever used.

    `settled_number` is the highest number that was in use when the task last settled: the attempts
    above it belong to a try that is not over, whatever has killed the run in between.
    """

    attempts: dict[int, PastAttempt] = field(default_factory=dict)
    accepted: AcceptedAttempt | None = None
    last_number: int = 0
    settled_number: int = 0

    @property
    def finished(self) -> list[PastAttempt]:
        """The attempts that count: all but the interrupted ones, in order."""
        return [attempt for _, attempt in sorted(self.attempts.items()) if not attempt.interrupted]

    @property
    def last(self) -> PastAttempt | None:
        """The latest attempt, interrupted or not."""
        return self.attempts[max(self.attempts)] if self.attempts else None


def history_of(events: Iterable[AttemptEvent]) -> TaskHistory:
    """Return the life that a task's journal tells."""
    history = TaskHistory()
    for event in events:
        history = history_after(history, event)
    return history


def history_after(history: TaskHistory, event: AttemptEvent) -> TaskHistory:
    """Return the life that a task's journal tells with one more entry."""
    attempts = history.attempts
    known = attempts.get(event.attempt)
    if known is None and event.event is not AttemptEventKind.ARCHIVED:
        known = PastAttempt(event.attempt, event.run_id)
    if known is not None:
        attempts = {**attempts, event.attempt: _attempt_after(known, event)}
    last_number = max(history.last_number, event.attempt)
    return TaskHistory(
        attempts,
        _accepted_after(history.accepted, event),
        last_number,
        # What was adopted was no try of ours, and uses up none of our attempts.
        last_number if event.event in _SETTLES or event.adopted else history.settled_number,
    )


def _attempt_after(attempt: PastAttempt, event: AttemptEvent) -> PastAttempt:
    match event.event:
        case AttemptEventKind.STARTED:
            return replace(attempt, fingerprint=event.fingerprint, started_at=event.time)
        case AttemptEventKind.ENDED:
            return replace(
                attempt,
                # What the loop called under counts, not what the call says of itself.
                fingerprint=attempt.fingerprint or event.fingerprint,
                ended_at=event.time,
                ended_reason=event.ended_reason,
                duration_seconds=event.duration_seconds or 0.0,
            )
        case AttemptEventKind.CANCELLED:
            return replace(attempt, cancelled=True)
        case AttemptEventKind.JUDGED:
            return replace(
                attempt,
                outcome=event.outcome,
                cause=event.cause,
                reason=event.reason or "",
                validation=event.validation,
            )
        case AttemptEventKind.METRICS_COMPUTED if event.error is None:
            return replace(attempt, metric_names=frozenset(event.scores or ()))
        case AttemptEventKind.GAVE_UP if event.stopped_early:
            return replace(attempt, stopped_early=event.reason)
        case _:
            return attempt


def _accepted_after(
    accepted: AcceptedAttempt | None, event: AttemptEvent
) -> AcceptedAttempt | None:
    match event.event:
        case AttemptEventKind.ACCEPTED:
            return AcceptedAttempt(event.attempt, event.acceptance or Acceptance.VALIDATED)
        case AttemptEventKind.ARCHIVED | AttemptEventKind.STARTED | AttemptEventKind.JUDGED:
            # A new verdict may be another one; whoever upholds the acceptance says so afterwards.
            return None
        case _:
            return accepted


def summarize_attempts(
    history: TaskHistory, run_directory: RunDirectory, task: Task
) -> tuple[AttemptSummary, ...]:
    """Return all attempts for people, in order, with the place where each one's files lie now."""
    return tuple(
        _summary(attempt, _directory_of(attempt.number, run_directory, task))
        for _, attempt in sorted(history.attempts.items())
    )


def _directory_of(number: int, run_directory: RunDirectory, task: Task) -> Path:
    archive = run_directory.archive_directory(task, number)
    return archive if archive.is_dir() else run_directory.task_directory(task)


def _summary(attempt: PastAttempt, directory: Path) -> AttemptSummary:
    outcome, cause, reason = attempt.outcome, attempt.cause, attempt.reason
    if outcome is None and attempt.interrupted:
        outcome, cause = Outcome.NOT_FINISHED, Cause.HARNESS
        reason = (
            "the run was stopped during the call"
            if attempt.cancelled
            else "the run ended during the call without a word; it was killed, or is still going on"
        )
    elif outcome is None:
        outcome, cause, reason = Outcome.UNJUDGED, Cause.JUDGE, "not judged"
    return AttemptSummary(
        number=attempt.number,
        outcome=outcome,
        cause=cause,
        ended_reason=attempt.ended_reason,
        duration_seconds=attempt.duration_seconds,
        reason=reason,
        directory=directory,
        validation=attempt.validation,
        interrupted=attempt.interrupted,
        stopped_early=attempt.stopped_early,
    )
