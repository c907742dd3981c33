"""results.csv."""

from __future__ import annotations

import csv

from scripted_world import HANGUP, TIMEOUT, World, task

from orchestrator_assets.records import Task
from orchestrator_assets.summary.writing import write_summaries


def rows(world: World, *tasks: Task) -> list[dict[str, str]]:
    write_summaries(world.run_directory, tasks)
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
