"""What the pipeline reported of one planted call. Nothing here looks at what was planted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator_assets.attempts.outcomes import AttemptSummary, TaskOutcome
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.summary.score_value import score_value
from orchestrator_assets.validation.result import USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY


@dataclass(frozen=True, slots=True)
class Observation:
    """A call that has settled: the verdict on its caller, and where that passed, the metrics."""

    outcome: TaskOutcome

    @property
    def attempt(self) -> AttemptSummary | None:
        """The call's only attempt; None where it could not be made."""
        return self.outcome.attempts[-1] if self.outcome.attempts else None

    @property
    def directory(self) -> Path | None:
        """Where its files lie."""
        return self.attempt.directory if self.attempt is not None else None

    @property
    def accepted(self) -> bool:
        """Whether the caller did its part, so that the agent is scored."""
        return self.outcome.accepted

    @property
    def ended_reason(self) -> str | None:
        """Why the call ended."""
        attempt = self.attempt
        return attempt.ended_reason if attempt is not None else None

    @property
    def complaints(self) -> Sequence[Mapping[str, Any]]:
        """What `user_behavioral_fidelity` holds against the caller; nothing where it passes."""
        return self._failed(USER_BEHAVIORAL_FIDELITY, "complaints")

    @property
    def turns_not_as_meant(self) -> Sequence[Mapping[str, Any]]:
        """The turns `user_speech_fidelity` rates 1; none where it passes."""
        turns = self._failed(USER_SPEECH_FIDELITY, "turns")
        return [turn for turn in turns if turn["rating"] == 1]

    def score(self, metric: str) -> MetricScore | None:
        """Return the score of the agent; None where it was not scored, or that failed."""
        score = (self.outcome.metrics or {}).get(metric) if self.accepted else None
        return None if score_value(score) is None else score

    @property
    def summary(self) -> str:
        """How the call settled, in a line."""
        attempt = self.attempt
        if attempt is None:
            return self.outcome.error or "the call was not placed"
        scores = ", ".join(
            f"{name} {value:.3g}"
            for name, score in (self.outcome.metrics or {}).items()
            if (value := score_value(score)) is not None
        )
        how = f"accepted ({self.outcome.acceptance})" if self.accepted else attempt.outcome.value
        return f"{how}: {attempt.reason}" + (f"; {scores}" if scores else "")

    def _failed(self, metric: str, details: str) -> Sequence[Mapping[str, Any]]:
        validation = self.attempt.validation if self.attempt is not None else None
        if validation is None or metric not in validation.failed_metrics:
            return ()
        found: Sequence[Mapping[str, Any]] = validation.scores[metric].details.get(details, ())
        return found
