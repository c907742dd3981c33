"""Settled calls made by hand: what a pipeline might report of a planted call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator_assets.attempts.outcomes import (
    Acceptance,
    AttemptSummary,
    Cause,
    Outcome,
    TaskOutcome,
)
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.doctor.planted_fault import PlantedFault
from orchestrator_assets.doctor.planting import PlantedCall
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record, Task
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
    ValidationResult,
)


def planted(call_id: str, fault: PlantedFault | None = None) -> PlantedCall:
    record = Record.model_validate({"id": call_id, "turns": ["Hello.", "My code is K7TQ2."]})
    return PlantedCall(record, fault, think_seconds=0.2)


def score(name: str, value: float, **details: Any) -> MetricScore:
    return MetricScore(name=name, score=value, normalized_score=value, details=details)


def turn(
    *,
    heard: str = "My code is K7TQ2.",
    error_rate: float = 0.0,
    missing: tuple[str, ...] = (),
    faults: tuple[str, ...] = (),
    level_dbfs: float | None = -20.0,
    clipped_share: float = 0.0,
    rating: int = 1,
) -> dict[str, Any]:
    """A row of what `user_speech_fidelity` says of its turns."""
    return {
        "turn": 1,
        "meant": "My code is K7TQ2.",
        "heard": heard,
        "rating": rating,
        "faults": list(faults),
        "missing_details": list(missing),
        "character_error_rate": error_rate,
        "sound": {"audio_user.wav": {"level_dbfs": level_dbfs, "clipped_share": clipped_share}},
    }


def rejected(
    call_id: str = "a",
    *,
    turns: list[dict[str, Any]] | None = None,
    complaints: list[dict[str, Any]] | None = None,
    outcome: Outcome = Outcome.VALIDATION_FAILED,
    cause: Cause = Cause.CALLER,
    reason: EndReason = EndReason.GOODBYE,
) -> TaskOutcome:
    """A call that does not count: its caller did not do its part, or it broke off."""
    scores = {GATE: score(GATE, 1.0 if outcome is Outcome.VALIDATION_FAILED else 0.0)}
    if turns is not None:
        scores[USER_SPEECH_FIDELITY] = score(USER_SPEECH_FIDELITY, 2.0, turns=turns)
    if complaints is not None:
        details = {"complaints": complaints}
        scores[USER_BEHAVIORAL_FIDELITY] = score(USER_BEHAVIORAL_FIDELITY, 0.0, **details)
    validation = ValidationResult(
        gate_passed=outcome is Outcome.VALIDATION_FAILED,
        scores=scores,
        failed_metrics=tuple(name for name in scores if name != GATE),
    )
    return _settled(call_id, None, _attempt(outcome, cause, reason, validation), {})


def accepted(
    call_id: str = "a",
    *scores: MetricScore,
    acceptance: Acceptance = Acceptance.VALIDATED,
    reason: EndReason = EndReason.GOODBYE,
    directory: Path = Path("unused"),
) -> TaskOutcome:
    """A call whose caller did its part, with the agent's scores."""
    limited = acceptance is Acceptance.TIME_LIMIT
    outcome = Outcome.TIME_LIMIT_EXCEEDED if limited else Outcome.PASSED
    validation = ValidationResult(gate_passed=not limited, gate_bypassed=limited, scores={})
    attempt = _attempt(outcome, Cause.AGENT if limited else None, reason, validation)
    attempt = replace(attempt, directory=directory)
    return _settled(call_id, acceptance, attempt, {each.name: each for each in scores})


def _attempt(
    outcome: Outcome, cause: Cause | None, reason: EndReason, validation: ValidationResult
) -> AttemptSummary:
    return AttemptSummary(
        number=1,
        outcome=outcome,
        cause=cause,
        ended_reason=reason,
        duration_seconds=20.0,
        reason="as it was made",
        directory=Path("unused"),
        validation=validation,
    )


def _settled(
    call_id: str,
    acceptance: Acceptance | None,
    attempt: AttemptSummary,
    metrics: dict[str, MetricScore],
) -> TaskOutcome:
    return TaskOutcome(
        task=Task(planted(call_id).record),
        acceptance=acceptance,
        attempts=(attempt,),
        attempts_made=1,
        accepted_attempt=1 if acceptance else None,
        directory=attempt.directory if acceptance else None,
        metrics=metrics if acceptance else None,
    )
