"""The verdict on whether the *caller* did its part in a conversation."""

from __future__ import annotations

from pydantic import BaseModel

from orchestrator_assets.metrics.base import MetricScore

GATE = "conversation_valid_end"
USER_BEHAVIORAL_FIDELITY = "user_behavioral_fidelity"
USER_SPEECH_FIDELITY = "user_speech_fidelity"

UNJUDGED = "unjudged"
"""The version of a score that was skipped because the evaluation names no judge for it."""


class ValidationResult(BaseModel):
    """The gate's verdict and the validation metrics' scores.

    `scores` holds what was computed, by name: the gate always, the validation metrics only if the
    gate passed or was bypassed. `failed_metrics` are validation metrics below their threshold,
    `errored_metrics` those whose judge gave no answer.
    """

    gate_passed: bool
    gate_bypassed: bool = False
    scores: dict[str, MetricScore]
    thresholds: dict[str, float] = {}
    failed_metrics: tuple[str, ...] = ()
    errored_metrics: tuple[str, ...] = ()
    failure_details: dict[str, str] = {}

    @property
    def passed(self) -> bool:
        """The gate passed or was bypassed, and no validation metric failed or errored."""
        gate = self.gate_passed or self.gate_bypassed
        return gate and not self.failed_metrics and not self.errored_metrics
