"""results.csv."""

from __future__ import annotations

import csv

from scripted_world import HANGUP, TIMEOUT, World, task

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.records import Task
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.writing import write_summaries


def rows(
    world: World, *tasks: Task, aggregation: Aggregation | None = None
) -> list[dict[str, str]]:
    write_summaries(world.run_directory, tasks, aggregation)
    with world.run_directory.results_path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


async def test_has_evas_columns_first_and_a_row_a_task_in_data_set_order(world: World) -> None:
    z, a, m = task("z"), task("a"), task("m")
    world.scripts = {"a": [HANGUP], "z": [TIMEOUT]}
    await world.run(z, a, max_attempts=2)

    accepted, failed, pending = rows(world, z, a, m)

    assert list(accepted) == [
        *("record_id", "completed", "duration_seconds", "num_turns", "num_tool_calls"),
        *("ended_reason", "error", "key", "status", "acceptance", "attempts", "outcome", "cause"),
        *("conversation_valid_end", "task_completion", "user_behavioral_fidelity"),
    ]
    assert accepted == {
        "record_id": "z",
        "completed": "true",
        "duration_seconds": "10.00",
        "num_turns": "2",
        "num_tool_calls": "0",
        "ended_reason": "time_limit_exceeded",
        "error": "",
        "key": "z",
        "status": "accepted",
        "acceptance": "time_limit",
        "attempts": "1",
        "outcome": "time_limit_exceeded",
        "cause": "agent",
        "conversation_valid_end": "0",
        "task_completion": "1",
        "user_behavioral_fidelity": "1",
    }
    assert (failed["record_id"], failed["completed"], failed["error"]) == ("a", "false", "failed")
    assert (failed["ended_reason"], failed["attempts"]) == ("agent_hangup", "2")
    assert failed["task_completion"] == ""
    assert (pending["record_id"], pending["error"], pending["attempts"]) == ("m", "pending", "0")


async def test_any_id_survives_the_table(world: World) -> None:
    awkward = task('a, "quoted"\nÜ')
    await world.run(awkward)

    [row] = rows(world, awkward)

    assert row["record_id"] == awkward.id
    assert row["completed"] == "true"


async def test_a_metric_without_a_normalised_score_shows_its_raw_one(world: World) -> None:
    a, b, c = task("a"), task("b"), task("c")
    await world.run(a, b, c)
    for one, score in ((a, {"score": 1.2345678}), (b, {"error": "no audio", "score": 9.0})):
        latency = MetricScore(name="response_latency", **score)
        merge_scores(world.run_directory.task_directory(one), one.id, {"response_latency": latency})

    first, second, third = rows(world, a, b, c)

    assert first["response_latency"] == "1.23457"
    assert (second["response_latency"], third["response_latency"]) == ("", "")


async def test_composites_follow_the_metrics_in_the_order_they_are_declared(world: World) -> None:
    a, b = task("a"), task("b")
    world.scripts["b"] = [HANGUP]
    await world.run(a, b, max_attempts=1)
    declared = {
        "über": Composite(mean=("task_completion",)),
        "all, of it": Composite(all={"über": 0.5, "lacking": 0.5}),
    }

    first, second = rows(world, a, b, aggregation=Aggregation(composites=declared))

    assert list(first)[-3:] == ["user_behavioral_fidelity", "über", "all, of it"]
    assert (first["über"], first["all, of it"]) == ("1", "")
    assert second["über"] == ""


async def test_is_utf8_with_an_equal_number_of_cells_in_every_row(world: World) -> None:
    tasks = [task("Jürgen: später, bitte"), task("日本, 語"), task('"'), task("=1+1;\tx")]
    await world.run(*tasks)
    rows(world, *tasks)

    text = world.run_directory.results_path.read_text(encoding="utf-8")

    table = list(csv.reader(text.splitlines()))
    assert [row[0] for row in table[1:]] == [each.id for each in tasks]
    assert len({len(row) for row in table}) == 1
