"""evaluation_summary.json (S6)."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from scripted_world import (
    BAD_CALLER,
    BAD_TIMEOUT,
    GOOD,
    HANGUP,
    TIMEOUT,
    Call,
    World,
    task,
    until,
)

from orchestrator_assets.attempts.loop import AttemptMode
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.records import Task
from orchestrator_assets.summary.writing import write_summaries

A = task("a")
B = task("b")
C = task("c")


def summary(world: World, *tasks: Task) -> dict[str, Any]:
    write_summaries(world.run_directory, tasks)
    path = world.run_directory.evaluation_summary_path
    return dict(json.loads(path.read_text(encoding="utf-8")))


def without_times_and_ids(summary: dict[str, Any]) -> dict[str, Any]:
    timed = {"started_at", "ended_at", "duration_seconds", "runs"}
    return {name: value for name, value in summary.items() if name not in timed}


async def test_has_evas_fields_and_ours_beside_them(world: World) -> None:
    world.scripts = {"a": [BAD_CALLER, GOOD], "b": [HANGUP], "c": [TIMEOUT]}
    await world.run(A, B, C, max_attempts=2)

    written = summary(world, A, B, C)

    assert list(written) == [
        "started_at",
        "ended_at",
        "duration_seconds",
        "simulation",
        "rerun_history",
        "final_failures",
        "attempts",
        "pending_record_ids",
        "runs",
    ]
    assert written["simulation"] == {
        "total_records": 3,
        "successful_records": 2,
        "failed_records": 1,
        "not_finished_count": 1,
        "validation_failed_count": 0,
        "records_with_llm_generic_error": 0,
        "llm_generic_error_record_ids": [],
        "failed_record_ids": ["b"],
        "successful_record_ids": ["a", "c"],
        "time_limit_accepted_record_ids": ["c"],
    }
    assert written["rerun_history"] == {
        "a": [
            {
                "attempt": 1,
                "reason": "validation_failed",
                "failed_metrics": ["user_behavioral_fidelity"],
                "scores": {"conversation_valid_end": 1.0, "user_behavioral_fidelity": 0.0},
                "failure_details": {"user_behavioral_fidelity": "it said something else"},
            }
        ],
        "b": [
            {"attempt": 1, "reason": "not_finished"},
            {"attempt": 2, "reason": "not_finished"},
        ],
        "c": [{"attempt": 1, "reason": "time_limit_exceeded"}],
    }
    assert written["final_failures"] == {"b": {"attempt": 2, "reason": "not_finished"}}
    assert written["attempts"].pop("economics").keys() == {
        "seconds",
        "invalid_by_cause",
        "first_attempts",
        "as_selected",
        "scores",
    }
    assert written["attempts"] == {
        "total": 5,
        "per_task": {"a": 2, "b": 2, "c": 1},
        "by_outcome": {
            "passed": 1,
            "not_finished": 2,
            "time_limit_exceeded": 1,
            "validation_failed": 1,
            "unjudged": 0,
        },
        "by_cause": {
            "caller": 1,
            "agent": 3,
            "transport": 0,
            "provider": 0,
            "judge": 0,
            "harness": 0,
        },
        "seconds_spent_on_invalid": 30.0,
        "interrupted": 0,
    }
    assert written["pending_record_ids"] == []
    [run] = written["runs"]
    assert run["id"] == "run-1"
    assert (run["started_at"], run["ended_at"]) == (written["started_at"], written["ended_at"])
    assert written["started_at"].endswith("+00:00")


async def test_is_a_function_of_the_run_directory_wherever_that_lies(
    world: World, tmp_path: Path
) -> None:
    world.scripts = {"a": [BAD_CALLER, GOOD], "b": [HANGUP]}
    await world.run(A, B)
    first = summary(world, A, B)

    shutil.copytree(world.root, tmp_path / "elsewhere")

    assert summary(world, A, B) == first
    assert summary(World(tmp_path / "elsewhere"), A, B) == first


async def test_a_resumed_run_tells_the_same_as_an_uninterrupted_one(tmp_path: Path) -> None:
    scripts = {"a": [BAD_CALLER, GOOD], "b": [GOOD], "c": [HANGUP]}
    whole = World(tmp_path / "whole", scripts=scripts)
    await whole.run(A, B, C, max_attempts=2)

    resumed = World(tmp_path / "resumed", scripts=scripts)
    resumed.held_judging = {"b": asyncio.Event(), "c": asyncio.Event()}
    running = asyncio.create_task(resumed.run(A, B, C, max_attempts=2))
    await until(lambda: len(resumed.judged) == 4 and ("metrics_computed", 2) in resumed.history(A))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    resumed.held_judging.clear()
    await resumed.run(A, B, C, max_attempts=2)

    expected = without_times_and_ids(summary(whole, A, B, C))
    assert without_times_and_ids(summary(resumed, A, B, C)) == expected


async def test_a_rerun_keeps_the_history_of_earlier_invocations(world: World) -> None:
    world.scripts["a"] = [HANGUP, BAD_CALLER, GOOD]
    await world.run(A, max_attempts=1)
    failed = summary(world, A)

    await world.run(A)

    written = summary(world, A)
    assert failed["final_failures"] == {"a": {"attempt": 1, "reason": "not_finished"}}
    assert written["final_failures"] == {}
    assert [entry["attempt"] for entry in written["rerun_history"]["a"]] == [1, 2]
    assert [run["id"] for run in written["runs"]] == ["run-1", "run-2"]


async def test_zero_attempts_afterwards_changes_nothing_of_it(world: World) -> None:
    world.scripts = {"a": [BAD_CALLER], "b": [HANGUP]}
    await world.run(A, B)
    before = without_times_and_ids(summary(world, A, B))

    await world.run(A, B, max_attempts=0)
    await world.run(A, B, max_attempts=0)

    assert without_times_and_ids(summary(world, A, B)) == before
    assert before["final_failures"]["a"]["failed_metrics"] == ["user_behavioral_fidelity"]


async def test_counts_of_failures_agree_with_the_history(world: World) -> None:
    silent_agent = Call(EndReason.INACTIVITY_TIMEOUT)
    world.scripts = {"a": [silent_agent], "b": [BAD_CALLER], "c": [BAD_TIMEOUT]}
    await world.run(A, B, C, max_attempts=1)

    written = summary(world, A, B, C)

    reasons = [entry["reason"] for entry in written["final_failures"].values()]
    assert reasons == ["not_finished", "validation_failed", "time_limit_exceeded"]
    assert written["simulation"]["not_finished_count"] == 2
    assert written["simulation"]["validation_failed_count"] == 1


async def test_total_is_always_the_sum_of_accepted_failed_and_pending(world: World) -> None:
    unjudged, deleted, damaged, killed, never = (
        task(name) for name in ("unjudged", "deleted", "damaged", "killed", "never")
    )
    world.scripts["b"] = [HANGUP]
    world.judge_outages["unjudged"] = 9
    await world.run(A, B, unjudged, deleted, damaged, max_attempts=1)
    shutil.rmtree(world.run_directory.task_directory(deleted))
    world.run_directory.journal(damaged).path.write_text("garbage\n")
    world.run_directory.journal(killed).append(
        {"event": "started", "attempt": 1, "run_id": "killed"}
    )

    written = summary(world, A, B, unjudged, deleted, damaged, killed, never)

    simulation = written["simulation"]
    assert simulation["total_records"] == 7
    assert simulation["successful_record_ids"] == ["a"]
    assert simulation["failed_record_ids"] == ["b"]
    assert written["pending_record_ids"] == ["unjudged", "deleted", "damaged", "killed", "never"]
    assert written["attempts"]["interrupted"] == 1


async def test_a_task_between_two_attempts_is_pending_and_not_failed(world: World) -> None:
    world.scripts["a"] = [HANGUP]
    world.held["a", 2] = asyncio.Event()
    running = asyncio.create_task(world.run(A, max_attempts=2))
    await asyncio.wait_for(world.went_live["a", 2].wait(), 5)

    meanwhile = summary(world, A)
    world.held["a", 2].set()
    await running

    assert meanwhile["pending_record_ids"] == ["a"]
    assert meanwhile["final_failures"] == {}
    assert meanwhile["rerun_history"] == {"a": [{"attempt": 1, "reason": "not_finished"}]}
    assert summary(world, A)["simulation"]["failed_record_ids"] == ["a"]


async def test_an_interrupted_attempt_counts_nowhere_else(world: World) -> None:
    world.held["a", 1] = asyncio.Event()
    running = asyncio.create_task(world.run(A))
    await asyncio.wait_for(world.went_live["a", 1].wait(), 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    written = summary(world, A)

    assert written["pending_record_ids"] == ["a"]
    assert written["attempts"]["total"] == 0
    assert written["rerun_history"] == {}


async def test_a_run_that_was_killed_has_no_end_but_the_summary_has_one(world: World) -> None:
    await world.run(A)
    runs = world.run_directory.runs.path
    runs.write_bytes(runs.read_bytes().split(b"\n")[0] + b"\n")

    written = summary(world, A)

    assert written["runs"][0]["ended_at"] is None
    assert written["ended_at"] is not None


async def test_force_counts_the_calls_it_repeats_but_not_as_invalid(world: World) -> None:
    await world.run(A)
    await world.run(A, mode=AttemptMode.FORCE)

    written = summary(world, A)

    assert written["attempts"]["per_task"] == {"a": 2}
    assert written["attempts"]["seconds_spent_on_invalid"] == 0
    assert written["rerun_history"] == {}


async def test_ids_are_those_of_trials_and_keep_their_own_spelling(world: World) -> None:
    first, second = task("a/b, é", trial=0), task("a/b, é", trial=1)
    world.scripts = {second.id: [HANGUP]}
    await world.run(first, second, max_attempts=1)

    written = summary(world, first, second)

    assert written["simulation"]["successful_record_ids"] == ["a/b, é/trial_0"]
    assert written["simulation"]["failed_record_ids"] == ["a/b, é/trial_1"]
    assert "a/b, é/trial_1" in world.run_directory.evaluation_summary_path.read_text("utf-8")


async def test_finds_the_agents_apology_for_an_error_of_its_model(world: World) -> None:
    sentence = "I'm sorry, I encountered an error processing your request."
    await world.run(A, B)
    for one, role in ((A, "assistant"), (B, "user")):
        row = {"role": role, "content": f"Well. {sentence}"}
        path = world.run_directory.task_directory(one) / "transcript.jsonl"
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")

    written = summary(world, A, B)

    assert written["simulation"]["records_with_llm_generic_error"] == 1
    assert written["simulation"]["llm_generic_error_record_ids"] == ["a"]


def test_an_evaluation_that_never_ran_is_all_pending(world: World) -> None:
    written = summary(world, A, B)

    assert written["pending_record_ids"] == ["a", "b"]
    assert (written["started_at"], written["ended_at"], written["duration_seconds"]) == (
        None,
        None,
        0,
    )
