"""metrics_summary.json: EVA's keys, ours beside them, and every number beside its denominator."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from scripted_world import BAD_CALLER, HANGUP, World, task, until
from task_states import accepted, failed, interrupted, pending, unjudged

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.records import Task
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.metrics_summary import metrics_summary
from orchestrator_assets.summary.task_state import TaskState
from orchestrator_assets.summary.writing import write_summaries

A = task("a")
B = task("b")
C = task("c")

AGGREGATION = Aggregation(
    metrics=("task_completion", "latency"),
    composites={
        "good": Composite(all={"task_completion": 1.0}),
        "Güte": Composite(mean=("task_completion", "latency")),
    },
    pass_thresholds={"task_completion": 1.0, "good": 1.0, "Güte": 0.5},
)


def summary(world: World, *tasks: Task, aggregation: Aggregation | None = None) -> dict[str, Any]:
    write_summaries(world.run_directory, tasks, aggregation)
    path = world.run_directory.metrics_summary_path
    return dict(json.loads(path.read_text(encoding="utf-8")))


def add(world: World, one: Task, **score: Any) -> None:
    merge_scores(
        world.run_directory.task_directory(one),
        one.id,
        {"latency": MetricScore(name="latency", **score)},
    )


async def test_every_mean_stands_beside_what_it_is_the_mean_of(world: World) -> None:
    await world.run(A, B, C)
    add(world, A, score=900.0, normalized_score=0.25)
    add(world, B, score=100.0, normalized_score=0.75)
    add(world, C, error="no audio")

    written = summary(world, A, B, C)

    assert written["total_records"] == 3
    assert written["per_metric"]["latency"] == {
        "mean": 0.5,
        "min": 0.25,
        "max": 0.75,
        "count": 2,
        "none_count": 0,
        "error_count": 1,
        "missing_count": 0,
        "total_records": 3,
        "skipped_count": 0,
        "mean_of_records": 0.5,
        "mean_ci_lower": 0.25,
        "mean_ci_upper": 0.75,
        "mean_ci_n_scenarios": 2,
        "higher_is_better": True,
        "not_renewed_count": 0,
        "tasks": {
            "total": 3,
            "accepted": 3,
            "scored": 2,
            "skipped": 0,
            "errored": 1,
            "missing": 0,
            "failed": 0,
            "unjudged": 0,
            "pending": 0,
        },
    }
    assert written["per_metric"]["task_completion"]["mean"] == 1.0
    assert written["metric_errors"] == {
        "latency": {"failed_count": 1, "total_count": 3, "failed_records": ["c"]}
    }


async def test_says_where_scores_are_lacking(world: World) -> None:
    await world.run(A, B, C)
    add(world, A, skipped=True)
    add(world, B, error="no audio")

    quality = summary(world, A, B, C)["data_quality"]

    assert quality == {
        "records_with_any_none": 1,
        "records_with_errors": 1,
        "records_with_missing": 1,
        "total_records": 3,
        "metrics_with_none_scores": {"latency": 1},
        "metrics_with_errors": {"latency": 1},
        "metrics_with_missing": {"latency": 1},
    }


async def test_failed_attempts_and_failed_tasks_are_not_mixed_in(world: World) -> None:
    world.scripts["b"] = [HANGUP]
    await world.run(A, B)

    written = summary(world, A, B)

    assert (written["total_records"], written["total_tasks"]) == (1, 2)
    assert written["per_metric"]["conversation_valid_end"]["mean"] == 1.0


def test_has_its_shape_even_without_a_conversation(world: World) -> None:
    written = summary(world, A)

    assert (written["total_records"], written["per_metric"]) == (0, {})
    assert written["data_quality"]["total_records"] == 0


def test_has_its_shape_even_without_a_task(world: World) -> None:
    written = summary(world, aggregation=AGGREGATION)

    assert written["total_tasks"] == 0
    assert written["overall_scores"]["good"]["mean"] is None
    assert written["pass_at_k_config"]["num_draws"] == 1


def test_what_became_of_every_task_adds_up_for_every_metric() -> None:
    states = [
        accepted("scored", latency=0.5),
        accepted("skipped", latency="skipped"),
        accepted("errored", latency="error"),
        accepted("missing"),
        accepted("without a number", latency="none"),
        failed("failed"),
        unjudged("unjudged"),
        pending("pending"),
        interrupted("interrupted"),
    ]

    score = metrics_summary(states)["per_metric"]["latency"]

    assert score["tasks"] == {
        "total": 9,
        "accepted": 5,
        "scored": 1,
        "skipped": 1,
        "errored": 1,
        "missing": 2,
        "failed": 1,
        "unjudged": 1,
        "pending": 2,
    }
    assert (score["none_count"], score["missing_count"], score["total_records"]) == (2, 1, 5)


def test_a_metric_of_the_evaluation_that_nobody_computed_is_missing_in_the_open() -> None:
    written = metrics_summary([accepted("a", task_completion=1.0)], AGGREGATION)

    latency = written["per_metric"]["latency"]
    assert (latency["mean"], latency["tasks"]["missing"]) == (None, 1)
    assert written["data_quality"]["metrics_with_missing"] == {"latency": 1}
    assert written["overall_scores"]["Güte"]["tasks"]["missing"] == 1


def test_success_is_told_by_both_policies() -> None:
    # Eight records, two right, two wrong, two errors, one failed, one that has no outcome to check.
    said = [1.0, 1.0, 0.0, 0.0, "error", "error", "skipped"]
    states = [accepted(f"r{index}", task_completion=each) for index, each in enumerate(said)]

    score = metrics_summary([*states, failed("r7")], AGGREGATION)["per_metric"]["task_completion"]

    assert (score["passed_count"], score["pass_threshold"]) == (2, 1.0)
    assert (score["success_rate"], score["success_rate_of"]) == (0.5, 4)
    assert score["success_rate_strict"] == pytest.approx(2 / 7)
    assert score["success_rate_strict_of"] == 7


def test_a_score_at_its_threshold_has_passed_and_one_just_below_has_not() -> None:
    aggregation = Aggregation(metrics=("m",), pass_thresholds={"m": 0.7})
    states = [accepted("at", m=0.7), accepted("tie", m=0.7 - 1e-10), accepted("below", m=0.69)]

    score = metrics_summary(states, aggregation)["per_metric"]["m"]

    assert score["passed_count"] == 2


def test_a_metric_without_a_threshold_has_no_success_rate() -> None:
    written = metrics_summary([accepted("a", latency=0.5)], AGGREGATION)

    assert "success_rate" not in written["per_metric"]["latency"]
    assert "pass_k" not in written["per_metric"]["latency"]
    assert written["pass_at_k_config"]["exclude_metrics"] == ["latency"]
    assert written["pass_at_k_config"]["per_metric_thresholds"] == AGGREGATION.pass_thresholds


def test_a_raw_score_has_a_mean_and_an_interval_but_never_passes() -> None:
    aggregation = Aggregation(metrics=("latency",), pass_thresholds={"latency": 0.5})
    states = [accepted("a", latency="raw 3.0"), accepted("b", latency="raw 1.0")]

    score = metrics_summary(states, aggregation)["per_metric"]["latency"]

    assert (score["mean"], score["mean_ci_lower"], score["mean_ci_upper"]) == (2.0, 1.0, 3.0)
    assert score["higher_is_better"] is None
    assert (score["success_rate"], score["success_rate_of"], score["passed_count"]) == (None, 0, 0)


def test_composites_have_evas_fields_and_ours() -> None:
    said = {"a": (1.0, 0.5), "b": (0.0, 0.25), "c": (1.0, "error")}
    states = [
        accepted(record, aggregation=AGGREGATION, task_completion=done, latency=latency)
        for record, (done, latency) in said.items()
    ]

    overall = metrics_summary([*states, failed("d")], AGGREGATION)["overall_scores"]

    assert list(overall) == ["good", "Güte", "pass_k"]
    assert overall["good"]["mean"] == pytest.approx(2 / 3)
    # Of the means 0.75 and 0.125, one is at least 0.5; c has none.
    mean = overall["Güte"]
    assert (mean["mean"], mean["count"], mean["error_count"]) == (0.4375, 2, 1)
    assert (mean["success_rate"], mean["success_rate_strict"]) == (0.5, 0.25)
    assert (mean["mean_ci_lower"], mean["mean_ci_upper"]) == (0.125, 0.75)
    assert overall["pass_k"].keys() == {"good", "Güte"}


def test_the_interval_is_of_records_so_trials_are_averaged_first() -> None:
    one = [accepted("a", trial, m=1.0) for trial in range(3)]
    states = [*one, accepted("b", 0, m=0.0)]

    score = metrics_summary(states)["per_metric"]["m"]

    assert (score["mean"], score["mean_of_records"]) == (0.75, 0.5)
    assert (score["mean_ci_lower"], score["mean_ci_upper"]) == (0.0, 1.0)
    assert score["mean_ci_n_scenarios"] == 2


def test_one_record_has_no_interval_however_many_trials() -> None:
    states = [accepted("a", trial, m=float(trial)) for trial in range(2)]

    score = metrics_summary(states)["per_metric"]["m"]

    assert (score["mean"], score["mean_ci_lower"], score["mean_ci_upper"]) == (0.5, None, None)
    assert score["mean_ci_n_scenarios"] == 1


def test_where_everything_errored_nothing_is_made_up() -> None:
    states = [accepted(record, m="error") for record in ("Jürgen", "日本", "a,b")]
    aggregation = Aggregation(metrics=("m",), pass_thresholds={"m": 0.5})

    written = metrics_summary(states, aggregation)

    score = written["per_metric"]["m"]
    assert (score["mean"], score["success_rate"], score["success_rate_strict"]) == (None, None, 0.0)
    assert (score["mean_ci_lower"], score["mean_ci_n_scenarios"]) == (None, 0)
    assert score["pass_k"]["count"] == 0
    assert score["pass_k"]["strict"]["pass_at_1"] == 0.0
    assert written["metric_errors"]["m"]["failed_records"] == ["Jürgen", "日本", "a,b"]


def test_the_order_of_the_tasks_changes_nothing() -> None:
    states = [
        accepted(f"Aufgabe {number}", trial, m=number * trial / 24)
        for number in range(9)
        for trial in range(3)
    ]
    aggregation = Aggregation(metrics=("m",), pass_thresholds={"m": 0.2})

    backwards = metrics_summary(states[::-1], aggregation)

    assert (
        approximately(backwards["per_metric"]) == metrics_summary(states, aggregation)["per_metric"]
    )


def approximately(value: Any) -> Any:
    """Let numbers differ in their last digits, for sums in another order do."""
    if isinstance(value, dict):
        return {key: approximately(each) for key, each in value.items()}
    if isinstance(value, list):
        return [approximately(each) for each in value]
    return pytest.approx(value) if isinstance(value, float) else value


def test_another_metrics_scores_move_no_interval() -> None:
    def with_other(*said: float) -> dict[str, Any]:
        states = [accepted(f"r{i}", m=i / 9, other=each) for i, each in enumerate(said)]
        return dict(metrics_summary(states)["per_metric"]["m"])

    assert with_other(*[0.0] * 10) == with_other(*[i / 10 for i in range(10)])


async def test_a_resumed_run_tells_the_same_as_an_uninterrupted_one(tmp_path: Path) -> None:
    trials = [task(record, trial=trial) for record in ("a", "ü") for trial in range(2)]
    last = trials[-1]
    scripts = {"a/trial_0": [BAD_CALLER]}
    whole = World(tmp_path / "whole", scripts=scripts)
    await whole.run(*trials, max_attempts=2)

    resumed = World(tmp_path / "other name", scripts=scripts)
    resumed.held_judging = {last.id: asyncio.Event()}
    running = asyncio.create_task(resumed.run(*trials, max_attempts=2))
    await until(lambda: len(resumed.judged) == 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    halfway = summary(resumed, *trials, aggregation=AGGREGATION)
    resumed.held_judging.clear()
    await resumed.run(*trials, max_attempts=2)

    expected = summary(whole, *trials, aggregation=AGGREGATION)
    assert halfway != expected
    assert summary(resumed, *trials, aggregation=AGGREGATION) == expected


async def test_a_run_that_was_moved_and_renamed_tells_the_same(
    world: World, tmp_path: Path
) -> None:
    await world.run(A, B, C)
    for one, value in ((A, 0.2), (B, 0.4), (C, 0.9)):
        add(world, one, score=value, normalized_score=value)
    first = summary(world, A, B, C, aggregation=AGGREGATION)

    shutil.copytree(world.root, tmp_path / "elsewhere")

    moved = summary(World(tmp_path / "elsewhere"), A, B, C, aggregation=AGGREGATION)
    assert moved == first
    assert first["per_metric"]["latency"]["mean_ci_lower"] is not None


def test_a_score_that_could_not_be_renewed_counts_and_is_counted() -> None:
    kept = MetricScore(name="m", score=0.5, normalized_score=0.5, latest_error="no answer")
    state = accepted("a", m=0.5)
    renewed = TaskState(state.task, state.status, scores={"m": kept})

    score = metrics_summary([renewed])["per_metric"]["m"]

    assert (score["mean"], score["error_count"], score["not_renewed_count"]) == (0.5, 0, 1)
