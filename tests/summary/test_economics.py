"""What retrying costs, and what it does to the scores."""

from __future__ import annotations

from typing import Any

from scripted_world import BAD_CALLER, GOOD, HANGUP, TIMEOUT, World, task

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.records import Task
from orchestrator_assets.summary.economics import economics
from orchestrator_assets.summary.task_state import read_task_state

A = task("a")
B = task("b")
C = task("c")
D = task("d")


def read(world: World, *tasks: Task) -> dict[str, Any]:
    return economics([read_task_state(world.run_directory, each) for each in tasks])


async def test_invalid_attempts_are_counted_and_timed_by_their_cause(world: World) -> None:
    world.scripts = {"a": [BAD_CALLER, BAD_CALLER, GOOD], "b": [HANGUP], "c": [TIMEOUT]}
    await world.run(A, B, C, max_attempts=3)

    read_economics = read(world, A, B, C)

    spent = {
        cause: each
        for cause, each in read_economics["invalid_by_cause"].items()
        if any(each.values())
    }
    assert spent == {
        "caller": {"attempts": 2, "seconds": 20.0},
        "agent": {"attempts": 3, "seconds": 30.0},
    }
    assert read_economics["seconds"] == 70.0


async def test_the_success_rate_of_first_attempts_stands_beside_the_one_in_the_end(
    world: World,
) -> None:
    world.scripts = {"a": [BAD_CALLER, GOOD], "b": [HANGUP], "c": [TIMEOUT]}
    await world.run(A, B, C, max_attempts=2)

    read_economics = read(world, A, B, C, D)

    assert read_economics["first_attempts"] == {"tasks": 3, "valid": 1, "success_rate": 1 / 3}
    assert read_economics["as_selected"] == {"tasks": 3, "valid": 2, "success_rate": 2 / 3}


async def test_scores_that_archived_first_attempts_lack_are_bounded(world: World) -> None:
    world.scripts = {"a": [BAD_CALLER, GOOD], "b": [HANGUP]}
    await world.run(A, B, C, D, max_attempts=2)

    score = read(world, A, B, C, D)["scores"]["task_completion"]

    assert score == {
        "as_selected": {"mean": 1.0, "count": 3},
        "first_attempts": {"mean": 1.0, "count": 2, "unknown": 2, "lowest": 0.5, "highest": 1.0},
        "both_known": 2,
    }


async def test_a_metric_without_a_scale_has_means_and_no_bounds(world: World) -> None:
    world.scripts = {"a": [BAD_CALLER, GOOD]}
    await world.run(A, B)
    for each, seconds in ((A, 3.0), (B, 1.0)):
        latency = {"latency": MetricScore(name="latency", score=seconds)}
        merge_scores(world.run_directory.task_directory(each), each.id, latency)

    score = read(world, A, B)["scores"]["latency"]

    assert score == {
        "as_selected": {"mean": 2.0, "count": 2},
        "first_attempts": {"mean": 1.0, "count": 1, "unknown": 1},
        "both_known": 1,
    }


async def test_a_forced_call_is_compared_with_the_first_one(world: World) -> None:
    await world.run(A)
    merge_scores(
        world.run_directory.task_directory(A),
        A.id,
        {"task_completion": MetricScore(name="task_completion", score=0, normalized_score=0)},
    )
    await world.run(A, mode=AttemptMode.FORCE)

    score = read(world, A)["scores"]["task_completion"]

    assert (score["as_selected"]["mean"], score["first_attempts"]["mean"]) == (1.0, 0.0)


async def test_attempts_under_other_conditions_are_no_first_attempts(world: World) -> None:
    world.scripts["a"] = [HANGUP, GOOD]
    await world.run(A, max_attempts=1)
    world.fingerprint = "other settings"
    await world.run(A, max_attempts=1)

    assert read(world, A)["first_attempts"]["success_rate"] == 1.0


def test_nothing_tried_has_no_rate(world: World) -> None:
    assert read(world, A)["first_attempts"] == {"tasks": 0, "valid": 0, "success_rate": None}
    assert read(world, A)["scores"] == {}
