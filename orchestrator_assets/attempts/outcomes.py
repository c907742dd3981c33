"""How attempts end, and how a task settles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Task
from orchestrator_assets.validation.result import ValidationResult


class Outcome(StrEnum):
    """How an attempt ended."""

    PASSED = "passed"
    NOT_FINISHED = "not_finished"
    TIME_LIMIT_EXCEEDED = "time_limit_exceeded"
    VALIDATION_FAILED = "validation_failed"
    UNJUDGED = "unjudged"


class Cause(StrEnum):
    """Who is to blame for an attempt that did not pass."""

    CALLER = "caller"
    AGENT = "agent"
    TRANSPORT = "transport"
    PROVIDER = "provider"
    JUDGE = "judge"
    HARNESS = "harness"


class Acceptance(StrEnum):
    """Why a task counts as successful."""

    VALIDATED = "validated"
    TIME_LIMIT = "time_limit"


@dataclass(frozen=True, slots=True)
class AttemptSummary:
    """One attempt of a task's whole life, as the journal tells it. Seconds are the call's own."""

    number: int
    outcome: Outcome
    cause: Cause | None
    ended_reason: EndReason | None
    duration_seconds: float
    reason: str
    """One line for people: what went wrong, or that nothing did."""
    directory: Path
    """Where its files lie now: the task's directory, or its archive."""
    validation: ValidationResult | None = None
    interrupted: bool = False
    """The run was stopped or killed during the call: kept, but counted nowhere."""
    stopped_early: str | None = None
    """Why the task was not tried again after this attempt, though it had attempts left."""


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """How a task settled in this invocation.

    `attempts` are all attempts ever made, `attempts_made` how many of them this invocation made.
    `accepted_attempt`, `directory` and `metrics` are there only for an accepted task. `reused`: its
    conversation was made by an earlier invocation. `error`: what went wrong outside the attempts.
    `stopped_early`: why it was not tried again, in one line, though it had attempts left.
    """

    task: Task
    acceptance: Acceptance | None
    attempts: tuple[AttemptSummary, ...]
    attempts_made: int
    reused: bool = False
    accepted_attempt: int | None = None
    directory: Path | None = None
    metrics: Mapping[str, MetricScore] | None = None
    error: str | None = None
    stopped_early: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the task counts as successful."""
        return self.acceptance is not None
