"""States of tasks made from a few words, for what is computed from them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeAlias

from orchestrator_assets.attempts.history import PastAttempt, TaskHistory
from orchestrator_assets.attempts.outcomes import Outcome
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record, Task
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.task_state import TaskState, TaskStatus

Said: TypeAlias = float | str
"""A normalised score, or `error`, `skipped`, `none` (computed without a number), `raw 3.5`."""

THEN = datetime(2025, 1, 1, tzinfo=UTC)


def score(name: str, said: Said) -> MetricScore:
    if isinstance(said, float | int):
        return MetricScore(name=name, score=said, normalized_score=said)
    if said == "error":
        return MetricScore(name=name, error="no answer")
    if said == "skipped":
        return MetricScore(name=name, skipped=True)
    if said == "none":
        return MetricScore(name=name)
    return MetricScore(name=name, score=float(said.removeprefix("raw ")))


def accepted(
    record: str,
    trial: int | None = None,
    aggregation: Aggregation | None = None,
    **scores: Said,
) -> TaskState:
    """An accepted task with these scores; a metric that is not named is missing."""
    computed = {name: score(name, said) for name, said in scores.items()}
    aggregation = aggregation or Aggregation()
    return TaskState(
        Task(Record(id=record), trial),
        TaskStatus.ACCEPTED,
        scores=computed,
        composites=aggregation.computed_composites.scores(computed),
    )


def failed(record: str, trial: int | None = None) -> TaskState:
    return TaskState(Task(Record(id=record), trial), TaskStatus.FAILED)


def pending(record: str, trial: int | None = None) -> TaskState:
    return TaskState(Task(Record(id=record), trial), TaskStatus.PENDING)


def unjudged(record: str, trial: int | None = None) -> TaskState:
    attempt = PastAttempt(1, "run-1", ended_at=THEN, outcome=Outcome.UNJUDGED)
    return TaskState(Task(Record(id=record), trial), TaskStatus.PENDING, TaskHistory({1: attempt}))


def interrupted(record: str, trial: int | None = None) -> TaskState:
    attempt = PastAttempt(1, "run-1", started_at=THEN)
    return TaskState(Task(Record(id=record), trial), TaskStatus.PENDING, TaskHistory({1: attempt}))
