"""Which scores of the agent a conversation has already."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import read_scores
from orchestrator_assets.metrics.selection import MetricSelection, ScoreChoice, is_lacking
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
)

VALIDATION_METRICS = frozenset({GATE, USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY})


def stored_metrics(directory: Path) -> dict[str, MetricScore]:
    """Return the agent's scores in `metrics.json`; none if the file is missing or damaged."""
    try:
        scores = read_scores(directory)
    except ConversationFileError:
        # What can't be read is computed again.
        return {}
    return {name: score for name, score in scores.items() if name not in VALIDATION_METRICS}


def lacking_metrics(wanted: Collection[str] | None, stored: Mapping[str, MetricScore]) -> bool:
    """Tell whether metrics must be computed: none ever were, one is missing, or one errored."""
    if wanted is None:
        return True
    return any(is_lacking(stored.get(name)) for name in wanted)


def selection_for(mode: AttemptMode) -> MetricSelection:
    """Return what an invocation computes that does not say it.

    Scores that are stale are left as they are, unless nothing but scores is asked for: a judge
    costs money, and what a run is for is conversations.
    """
    computes_all = mode is AttemptMode.METRICS_ONLY
    return MetricSelection(ScoreChoice.ALL if computes_all else ScoreChoice.LACKING)
