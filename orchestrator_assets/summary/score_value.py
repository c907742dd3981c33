"""What one score stands for in tables and means: a number, or a reason why there is none."""

from __future__ import annotations

from enum import IntEnum

from orchestrator_assets.metrics.base import MetricScore


class ScoreStanding(IntEnum):
    """Every task has exactly one of these for every metric, so they add up to the total.

    Accepted conversations have the first four, tasks without one the rest.
    """

    SCORED = 0
    SKIPPED = 1
    """The metric does not apply to the conversation, or the conversation lacks what it needs."""
    ERRORED = 2
    MISSING = 3
    """Never computed, or computed without a number to show for it."""
    FAILED = 4
    UNJUDGED = 5
    """There is a conversation, and no verdict yet on whether it counts."""
    PENDING = 6


def score_value(score: MetricScore | None) -> float | None:
    """Return the normalised score, else the raw one; None where there is none that counts."""
    if score is None or score.error is not None or score.skipped:
        return None
    return score.score if score.normalized_score is None else score.normalized_score


def standing_of(score: MetricScore | None) -> ScoreStanding:
    """Return how the score of an accepted conversation stands."""
    if score is None:
        return ScoreStanding.MISSING
    if score.error is not None:
        return ScoreStanding.ERRORED
    if score.skipped:
        return ScoreStanding.SKIPPED
    if score.score is None and score.normalized_score is None:
        return ScoreStanding.MISSING
    return ScoreStanding.SCORED
