"""Composites of one conversation's scores."""

from __future__ import annotations

import pytest
import yaml
from pydantic import ValidationError
from task_states import Said, score

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import Composite, Composites

EVAS = """
EVA-overall_pass: {all: {EVA-A_pass: 1.0, EVA-X_pass: 1.0}}
EVA-overall_mean:
  mean: [task_completion, faithfulness, agent_speech_fidelity,
         conversation_progression, turn_taking, conciseness]
EVA-A_pass: {all: {task_completion: 1.0, faithfulness: 0.5, agent_speech_fidelity: 0.95}}
EVA-X_pass: {all: {conversation_progression: 0.5, turn_taking: 0.8, conciseness: 0.5}}
EVA-A_mean: {mean: [task_completion, faithfulness, agent_speech_fidelity]}
EVA-X_mean: {mean: [conversation_progression, turn_taking, conciseness]}
"""
GOOD: dict[str, Said] = {
    "task_completion": 1.0,
    "faithfulness": 0.5,
    "agent_speech_fidelity": 0.95,
    "conversation_progression": 0.5,
    "turn_taking": 0.8,
    "conciseness": 0.75,
}


def composites(text: str) -> Composites:
    declared = yaml.safe_load(text)
    return Composites({name: Composite.model_validate(each) for name, each in declared.items()})


def computed(text: str, **scores: Said) -> dict[str, MetricScore]:
    return composites(text).scores({name: score(name, said) for name, said in scores.items()})


def values(text: str, **scores: Said) -> dict[str, float | None]:
    return {name: each.normalized_score for name, each in computed(text, **scores).items()}


def test_evas_composites_have_the_values_worked_out_by_hand() -> None:
    # Means: (1 + 0.5 + 0.95) / 3, (0.5 + 0.8 + 0.75) / 3, and (2.45 + 2.05) / 6.
    assert values(EVAS, **GOOD) == {
        "EVA-overall_pass": 1.0,
        "EVA-overall_mean": pytest.approx(0.75),
        "EVA-A_pass": 1.0,
        "EVA-X_pass": 1.0,
        "EVA-A_mean": pytest.approx(0.816667, abs=1e-6),
        "EVA-X_mean": pytest.approx(0.683333, abs=1e-6),
    }


def test_one_component_below_its_threshold_fails_what_is_made_of_it() -> None:
    found = values(EVAS, **{**GOOD, "turn_taking": 0.79})

    passes = {name: value for name, value in found.items() if name.endswith("_pass")}
    assert passes == {"EVA-overall_pass": 0.0, "EVA-A_pass": 1.0, "EVA-X_pass": 0.0}


def test_a_threshold_is_reached_within_the_tolerance_and_not_beyond_it() -> None:
    third = sum([0.1] * 3)  # A little more than 0.3.
    assert values("ok: {all: {m: 0.3}}", m=0.3 - 5e-10) == {"ok": 1.0}
    assert values("ok: {all: {m: 0.3}}", m=0.3 - 2e-9) == {"ok": 0.0}
    assert values("ok: {all: {m: 1.0}}", m=1 - third + 0.3) == {"ok": 1.0}


def test_an_errored_component_leaves_an_error_and_no_score_even_where_another_failed() -> None:
    found = computed("both: {all: {a: 1.0, b: 1.0}}\nmean: {mean: [a, b]}", a=0.0, b="error")

    assert {name: (each.score, each.error) for name, each in found.items()} == {
        "both": (None, "b: no answer"),
        "mean": (None, "b: no answer"),
    }


@pytest.mark.parametrize("lacking", [{}, {"b": "none"}, {"b": "raw 3.5"}])
def test_a_component_without_a_normalised_score_leaves_none(lacking: dict[str, Said]) -> None:
    found = computed("mean: {mean: [a, b]}", a=1.0, **lacking)["mean"]

    assert (found.score, found.normalized_score, found.error, found.skipped) == (
        None,
        None,
        None,
        False,
    )
    assert found.details == {"reason": "no score between 0 and 1: b"}


def test_skipped_components_are_left_out_of_it() -> None:
    text = "both: {all: {a: 1.0, b: 1.0}}\nmean: {mean: [a, b, c]}"

    assert values(text, a=1.0, b="skipped", c=0.5) == {"both": 1.0, "mean": 0.75}


def test_it_is_skipped_if_everything_in_it_is_and_so_is_what_is_made_of_it() -> None:
    text = "outer: {all: {inner: 1.0}}\ninner: {mean: [a, b]}"

    found = computed(text, a="skipped", b="skipped")

    assert [(each.skipped, each.score, each.error) for each in found.values()] == [
        (True, None, None),
        (True, None, None),
    ]


def test_the_evidence_names_what_fell_short() -> None:
    found = computed("both: {all: {a: 1.0, b: 0.5, c: 0.5}}", a=0.25, b=0.5, c="skipped")["both"]

    assert found.details == {
        "components": {"a": 0.25, "b": 0.5},
        "skipped": ["c"],
        "reason": "a 0.25 is below 1",
    }


def test_without_evidence_the_scores_are_the_same() -> None:
    scores = {name: score(name, said) for name, said in GOOD.items()}
    every = composites(EVAS)

    bare = every.scores(scores, evidence=False)

    assert all(each.details == {} for each in bare.values())
    assert {name: each.score for name, each in bare.items()} == {
        name: each.score for name, each in every.scores(scores).items()
    }


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"all": {"a": 1.0}, "mean": ["a"]},
        {"all": {}},
        {"mean": []},
        {"all": {"a": 1.5}},
        {"all": {"a": float("nan")}},
        {"mean": ["a"], "of": 1},
    ],
)
def test_a_composite_has_one_shape_and_thresholds_that_can_be_reached(shape: object) -> None:
    with pytest.raises(ValidationError):
        Composite.model_validate(shape)
