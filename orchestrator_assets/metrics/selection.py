"""Which scores of a conversation are computed: those it lacks, or more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from orchestrator_assets.metrics.base import MetricScore


class ScoreChoice(StrEnum):
    """Which scores of the chosen metrics are computed, by how they stand."""

    LACKING = "lacking"
    """Never computed, or errored: there is no score."""
    FAILED = "failed"
    """Errored when it was last computed, though an earlier score may be there."""
    OUTDATED = "outdated"
    """Lacking, failed, or of another version of the metric's code."""
    ALL = "all"


class StaleScore(NamedTuple):
    """A score that another version of the metric's code may have given otherwise."""

    metric: str
    version: str
    current: str


@dataclass(frozen=True, slots=True)
class MetricSelection:
    """The metrics to compute, all if `names` is None, and which of their scores.

    What is not selected is not touched.
    """

    scores: ScoreChoice = ScoreChoice.LACKING
    names: frozenset[str] | None = None

    def of(self, versions: Mapping[str, str], stored: Mapping[str, MetricScore]) -> list[str]:
        """Return which of these metrics to compute on a conversation with these scores.

        `versions` are the metrics' code versions, by name.
        """
        return [
            name
            for name, current in versions.items()
            if (self.names is None or name in self.names) and self._takes(stored.get(name), current)
        ]

    def _takes(self, score: MetricScore | None, current: str) -> bool:
        match self.scores:
            case ScoreChoice.ALL:
                return True
            case ScoreChoice.LACKING:
                return is_lacking(score)
            case ScoreChoice.FAILED:
                return _has_failed(score)
            case ScoreChoice.OUTDATED:
                return is_lacking(score) or _has_failed(score) or _is_stale(score, current)


def is_lacking(score: MetricScore | None) -> bool:
    """Tell whether a score has to be computed in any case."""
    return score is None or score.error is not None


def stale_scores(
    versions: Mapping[str, str], stored: Mapping[str, MetricScore]
) -> list[StaleScore]:
    """Return the scores of another version than the metric's code has now: see `of`."""
    return [
        StaleScore(name, score.version or "", current)
        for name, current in versions.items()
        if (score := stored.get(name)) is not None
        and not is_lacking(score)
        and _is_stale(score, current)
    ]


def _has_failed(score: MetricScore | None) -> bool:
    return score is not None and (score.error is not None or score.latest_error is not None)


def _is_stale(score: MetricScore | None, current: str) -> bool:
    # A score that says no version is not ours, and there is no telling.
    return score is not None and score.version is not None and score.version != current
