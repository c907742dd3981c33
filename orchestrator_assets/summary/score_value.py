"""The one number a score stands for in tables and means."""

from __future__ import annotations

from orchestrator_assets.metrics.base import MetricScore


def score_value(score: MetricScore | None) -> float | None:
    """Return the normalised score, else the raw one; None for an errored or missing score."""
    if score is None or score.error is not None:
        return None
    return score.score if score.normalized_score is None else score.normalized_score
