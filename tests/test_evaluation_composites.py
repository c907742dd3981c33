"""Composites and pass thresholds in an evaluation's file: every fault by its field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluation_fakes import write_evaluation

from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.metrics.composite_faults import RESERVED_NAMES
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.results_csv import EVA_COLUMNS, OWN_COLUMNS


def faults(folder: Path, **fields: Any) -> dict[str, str]:
    """Return the faults of an evaluation with these fields, by location."""
    with pytest.raises(ConfigurationError) as caught:
        load_evaluation(write_evaluation(folder, ["a"], **fields))
    return {fault.location: fault.message for fault in caught.value.faults}


def test_composites_of_metrics_and_of_composites_are_taken(tmp_path: Path) -> None:
    path = write_evaluation(
        tmp_path,
        ["a"],
        metrics=["task_completion", "turn_taking"],
        composites={
            "ganz gut": {"mean": ["EVA-A_pass", "turn_taking"]},
            "EVA-A_pass": {"all": {"task_completion": 1.0}},
        },
        pass_thresholds={"turn_taking": 0.9, "ganz gut": 0.7},
    )

    assert list(load_evaluation(path).composites) == ["ganz gut", "EVA-A_pass"]


def test_components_that_the_evaluation_lacks_are_told_apart(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        composites={
            "good": {"all": {"charm": 0.5, "turn_taking": 0.8, "task_completion": 1.0}},
            "caller": {"mean": ["task_completion", "user_speech_fidelity"]},
        },
    )

    assert found == {
        "composites.good.all.charm": (
            "there is no metric or composite 'charm'; the evaluation's: "
            "task_completion, good, caller"
        ),
        "composites.good.all.turn_taking": (
            "'turn_taking' is not among the evaluation's `metrics`; add it there"
        ),
        "composites.caller.mean.1": (
            "'user_speech_fidelity' says how the caller did, and nothing of the agent; "
            "name another score"
        ),
    }


def test_names_that_are_taken_or_no_names_are_refused(tmp_path: Path) -> None:
    one = {"all": {"task_completion": 1.0}}
    names = ["task_completion", "turn_taking", "user_speech_fidelity", "status", "pass_k", " x", ""]

    found = faults(tmp_path, composites=dict.fromkeys([*names, "two\nlines", "x" * 65], one))

    taken = {name: found[f"composites.{name}"].partition(";")[0] for name in names[:5]}
    assert taken == {
        "task_completion": "is the name of a metric",
        "turn_taking": "is the name of a metric",
        "user_speech_fidelity": "is the name of a metric",
        "status": "is the name of something else in the summaries",
        "pass_k": "is the name of something else in the summaries",
    }
    for name in (" x", "", "two\nlines", "x" * 65):
        assert found[f"composites.{name}"].startswith("must be a name of 1 to 64 characters")


def test_no_composite_can_take_the_place_of_a_column_of_the_results() -> None:
    assert {*EVA_COLUMNS, *OWN_COLUMNS} < RESERVED_NAMES


def test_every_circle_is_found(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        composites={
            "alone": {"mean": ["alone"]},
            "a": {"mean": ["b", "task_completion"]},
            "b": {"all": {"a": 1.0}},
            "fine": {"mean": ["task_completion"]},
        },
    )

    assert found.keys() == {"composites.alone", "composites.a"}
    assert found["composites.alone"] == "is made of itself: 'alone' of 'alone'"
    assert found["composites.a"].startswith("is made of itself: ")
    assert all(f"'{name}'" in found["composites.a"] for name in "ab")


def test_a_component_named_twice_counts_once_and_so_is_refused(tmp_path: Path) -> None:
    found = faults(tmp_path, composites={"c": {"mean": ["task_completion", "task_completion"]}})

    assert found == {"composites.c.mean.1": "'task_completion' is named twice; name it once"}


def test_thresholds_of_what_is_not_scored_are_refused_with_all_other_faults(
    tmp_path: Path,
) -> None:
    found = faults(
        tmp_path,
        metrics=["task_completion", "charm"],
        composites={"c": {"mean": ["gone"]}},
        pass_thresholds={"task_completion": 1, "turn_taking": 0.5, "nothing": 0.5},
    )

    assert found.keys() == {
        "metrics.1",
        "composites.c.mean.0",
        "pass_thresholds.turn_taking",
        "pass_thresholds.nothing",
    }


def test_thresholds_are_the_evaluations_else_the_metrics_own(tmp_path: Path) -> None:
    path = write_evaluation(
        tmp_path,
        ["a"],
        metrics=["task_completion", "turn_taking", "response_latency"],
        composites={
            "every": {"all": {"task_completion": 1.0}},
            "half": {"mean": ["turn_taking"]},
            "strict": {"mean": ["turn_taking"]},
        },
        pass_thresholds={"turn_taking": 0.9, "strict": 0.75},
    )

    aggregation = Aggregation.of(load_evaluation(path))

    assert aggregation.metrics == ("task_completion", "turn_taking", "response_latency")
    assert aggregation.pass_thresholds == {
        "task_completion": 1.0,
        "turn_taking": 0.9,
        "every": 1.0,
        "half": 0.5,
        "strict": 0.75,
    }
