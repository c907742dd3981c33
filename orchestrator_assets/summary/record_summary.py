"""Everything about one task on one page: how it stands, its attempts, its scores."""

from __future__ import annotations

from pydantic import BaseModel

from orchestrator_assets.attempts.history import summarize_attempts
from orchestrator_assets.attempts.outcomes import Acceptance, AttemptSummary, Cause, Outcome
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import Composites
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.task_state import TaskStatus, read_task_state
from orchestrator_assets.validation.result import ValidationResult


class AttemptRow(BaseModel):
    """One attempt. `directory` is relative to the run directory; seconds are the call's."""

    attempt: int
    outcome: Outcome
    cause: Cause | None
    ended_reason: EndReason | None
    duration_seconds: float
    reason: str
    interrupted: bool
    stopped_early: str | None
    directory: str
    validation: ValidationResult | None


class RecordSummary(BaseModel):
    """One task. The conversation's fields are the accepted one's, else the last attempt's."""

    record_id: str
    task_id: str
    key: str
    trial: int | None
    status: TaskStatus
    acceptance: Acceptance | None
    accepted_attempt: int | None
    directory: str | None
    ended_reason: EndReason | None
    duration_seconds: float | None
    num_turns: int | None
    num_tool_calls: int | None
    attempts: list[AttemptRow]
    scores: dict[str, MetricScore]
    composites: dict[str, MetricScore]


def record_summary(
    run_directory: RunDirectory, task: Task, composites: Composites | None = None
) -> RecordSummary:
    """Return how a task stands, from the run directory and what is made of its scores."""
    state = read_task_state(run_directory, task, composites)
    attempts = summarize_attempts(state.history, run_directory, task)
    accepted, result = state.accepted, state.result
    return RecordSummary(
        record_id=task.record.id,
        task_id=task.id,
        key=task.key,
        trial=task.trial,
        status=state.status,
        acceptance=None if accepted is None else accepted.acceptance,
        accepted_attempt=None if accepted is None else accepted.number,
        directory=(
            None
            if state.directory is None
            else state.directory.relative_to(run_directory.root).as_posix()
        ),
        ended_reason=None if result is None else result.conversation_ended_reason,
        duration_seconds=None if result is None else result.duration_seconds,
        num_turns=None if result is None else result.num_turns,
        num_tool_calls=None if result is None else result.num_tool_calls,
        attempts=[_row(attempt, run_directory) for attempt in attempts],
        scores=dict(state.scores),
        composites=dict(state.composites),
    )


def _row(attempt: AttemptSummary, run_directory: RunDirectory) -> AttemptRow:
    return AttemptRow(
        attempt=attempt.number,
        outcome=attempt.outcome,
        cause=attempt.cause,
        ended_reason=attempt.ended_reason,
        duration_seconds=attempt.duration_seconds,
        reason=attempt.reason,
        interrupted=attempt.interrupted,
        stopped_early=attempt.stopped_early,
        directory=attempt.directory.relative_to(run_directory.root).as_posix(),
        validation=attempt.validation,
    )
