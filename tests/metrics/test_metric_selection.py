from __future__ import annotations

import pytest

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.selection import (
    MetricSelection,
    ScoreChoice,
    StaleScore,
    stale_scores,
)


def score(version: str | None = "2", **fields: object) -> MetricScore:
    return MetricScore.model_validate({"name": "", "score": 1.0, "version": version, **fields})


STORED = {
    "good": score(),
    "stale": score("1"),
    "of_no_version": score(None),
    "errored": score(score=None, error="no answer"),
    "kept": score(latest_error="no answer"),
    "skipped": score(score=None, skipped=True),
    "skipped_before": score("1", score=None, skipped=True),
    "of_somebody_else": score("1"),
}
VERSIONS = dict.fromkeys([*list(STORED)[:-1], "missing"], "2")


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        (ScoreChoice.LACKING, ["errored", "missing"]),
        (ScoreChoice.FAILED, ["errored", "kept"]),
        (ScoreChoice.OUTDATED, ["stale", "errored", "kept", "skipped_before", "missing"]),
        (ScoreChoice.ALL, list(VERSIONS)),
    ],
)
def test_scores_are_chosen_by_how_they_stand(choice: ScoreChoice, chosen: list[str]) -> None:
    assert MetricSelection(choice).of(VERSIONS, STORED) == chosen


def test_metrics_that_are_not_named_are_not_chosen_however_they_stand() -> None:
    for choice in ScoreChoice:
        selection = MetricSelection(choice, frozenset({"errored", "good"}))
        expected = ["good", "errored"] if choice is ScoreChoice.ALL else ["errored"]
        assert selection.of(VERSIONS, STORED) == expected


def test_stale_scores_name_both_versions() -> None:
    assert stale_scores(VERSIONS, STORED) == [
        StaleScore("stale", "1", "2"),
        StaleScore("skipped_before", "1", "2"),
    ]
