"""metrics_summary.json, in EVA's shape."""

from __future__ import annotations

import json
from typing import Any

from scripted_world import HANGUP, World, task

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.records import Task
from orchestrator_assets.summary.writing import write_summaries

A = task("a")
B = task("b")
C = task("c")


def summary(world: World, *tasks: Task) -> dict[str, Any]:
    write_summaries(world.run_directory, tasks)
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

    assert written["total_records"] == 1
    assert written["per_metric"]["conversation_valid_end"]["mean"] == 1.0


def test_has_its_shape_even_without_a_conversation(world: World) -> None:
    written = summary(world, A)

    assert (written["total_records"], written["per_metric"]) == (0, {})
    assert written["data_quality"]["total_records"] == 0
