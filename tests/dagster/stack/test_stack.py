"""What users do in the UI, done over GraphQL to a running code server, webserver and daemon."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from dagster_stack import DagsterStack, wait_for
from stack_evaluations import (
    PLANNED_RECORDS,
    REAL_RECORDS,
    agent_events,
    held_file,
    plan_calls,
    planned_calls,
    write_records,
)

from orchestrator_assets.dagster_assets.keys import TaskAsset


def but(*failed: str) -> list[str]:
    return [record for record in PLANNED_RECORDS if record not in failed]


def test_partitions_turn_as_tasks_settle_and_failed_ones_are_backfilled_in_ranges(
    stack: DagsterStack,
) -> None:
    name, folder = "planned_backfills", stack.evaluations
    stack.wait_until_registered(name, PLANNED_RECORDS)
    failing = {"record_2": "cut_off", "record_5": "misspoken", "record_6": "cut_off"}
    plan_calls(folder, name, held=["record_9"], **failing)

    backfill = stack.backfill(name, PLANNED_RECORDS)
    settled = but("record_9", *failing)
    wait_for(
        "settled tasks are materialised while the run goes on",
        lambda: stack.partitions(name, TaskAsset.RECORD_SUMMARY)[0] == settled,
    )
    plan_calls(folder, name, **failing)
    assert stack.backfill_runs(backfill) == ["FAILURE"]
    assert stack.all_partitions(name) == (but(*failing), sorted(failing))

    plan_calls(folder, name, record_6="misspoken")
    placed_before = len(planned_calls(folder, name))
    backfill = stack.backfill(name, sorted(failing))
    assert stack.backfill_runs(backfill) == ["FAILURE", "SUCCESS"]
    assert stack.all_partitions(name) == (but("record_6"), ["record_6"])
    assert sorted(planned_calls(folder, name)[placed_before:]) == sorted(failing)


def test_a_cancelled_backfill_hangs_up_keeps_what_is_finished_and_can_be_made_up_for(
    stack: DagsterStack,
) -> None:
    name, folder, held = "planned_cancellation", stack.evaluations, "record_4"
    stack.wait_until_registered(name, PLANNED_RECORDS)
    plan_calls(folder, name, held=[held])
    backfill = stack.backfill(name, PLANNED_RECORDS)
    wait_for(
        "all tasks but the one whose call goes on are materialised",
        lambda: stack.partitions(name, TaskAsset.RECORD_SUMMARY)[0] == but(held),
    )

    stack.cancel_backfill(backfill)
    assert stack.backfill_runs(backfill) == ["CANCELED"]
    assert planned_calls(folder, name, "hung up") == [held]
    assert stack.all_partitions(name) == (but(held), [])

    plan_calls(folder, name)
    assert stack.backfill_runs(stack.backfill(name, [held])) == ["SUCCESS"]
    assert stack.all_partitions(name) == (PLANNED_RECORDS, [])
    placed = planned_calls(folder, name)
    assert [placed.count(record) for record in but(held)] == [1] * len(but(held))


def test_the_job_reruns_scattered_failures_in_one_run(stack: DagsterStack) -> None:
    name, folder = "planned_reruns", stack.evaluations
    stack.wait_until_registered(name, PLANNED_RECORDS)
    failing = {"record_1": "cut_off", "record_4": "misspoken", "record_8": "misspoken"}
    plan_calls(folder, name, **failing)
    run = stack.launch_range(name, PLANNED_RECORDS[0], PLANNED_RECORDS[-1])
    assert stack.ended_status(run) == "FAILURE"
    assert stack.all_partitions(name) == (but(*failing), sorted(failing))

    plan_calls(folder, name, record_8="misspoken")
    placed_before = len(planned_calls(folder, name))
    run = stack.launch(f"{name}_rerun_failed")
    assert stack.ended_status(run) == "FAILURE"
    assert stack.all_partitions(name) == (but("record_8"), ["record_8"])
    assert sorted(planned_calls(folder, name)[placed_before:]) == sorted(failing)


def test_a_cancelled_run_hangs_up_keeps_what_is_finished_and_gives_way_to_the_next(
    stack: DagsterStack,
) -> None:
    name, held = "canceled", held_file(stack.evaluations, "canceled")
    run = run_until_one_call_is_left(stack, name)

    stack.terminate(run)
    assert stack.ended_status(run) == "CANCELED"
    assert agent_events(stack.evaluations, held.name) == ["start", "stop"]
    # What a cancelled run has not done is missing, not failed.
    assert stack.all_partitions(name) == (["first", "second"], [])

    held.unlink()
    run = stack.launch_range(name, REAL_RECORDS[0], REAL_RECORDS[-1])
    assert stack.ended_status(run) == "FAILURE"
    assert stack.all_partitions(name) == (["first", "second", "slow"], ["hangs_up"])
    assert attempts(stack, name, "first") == 1
    assert attempts(stack, name, "second") == 1


def test_a_killed_run_is_noticed_and_its_successor_repeats_no_finished_call(
    stack: DagsterStack,
) -> None:
    name, held = "killed", held_file(stack.evaluations, "killed")
    run = run_until_one_call_is_left(stack, name)

    os.kill(stack.worker_pid(run), signal.SIGKILL)
    assert stack.ended_status(run) == "FAILURE"
    assert stack.all_partitions(name) == (["first", "second"], ["hangs_up", "slow"])

    held.unlink()
    run = stack.launch(f"{name}_rerun_failed")
    assert stack.ended_status(run) == "FAILURE"
    assert stack.all_partitions(name) == (["first", "second", "slow"], ["hangs_up"])
    assert attempts(stack, name, "first") == 1
    assert attempts(stack, name, "second") == 1


def test_records_that_are_added_to_the_data_set_are_called_in_one_run(stack: DagsterStack) -> None:
    name, folder = "planned_new_records", stack.evaluations
    new_records = ["record_10", "record_11"]
    stack.wait_until_registered(name, PLANNED_RECORDS)
    assert planned_calls(folder, name) == []

    write_records(folder, name, [*PLANNED_RECORDS, *new_records])
    stack.wait_until_registered(name, new_records)
    job = f"{name}_run_partitions"
    (run,) = wait_for("the sensor has asked for a run", lambda: stack.runs(job))
    assert stack.ended_status(run) == "SUCCESS"
    assert stack.all_partitions(name) == (new_records, [])
    assert sorted(planned_calls(folder, name)) == new_records

    sensor = f"{name}_new_records"
    before = stack.latest_tick(sensor)
    wait_for("the sensor has looked again", lambda: stack.latest_tick(sensor) > before)
    assert stack.runs(job) == [run]


def run_until_one_call_is_left(stack: DagsterStack, name: str) -> str:
    """Launch a run of real calls, and return it when all but a call that crawls are settled."""
    held = held_file(stack.evaluations, name)
    held.touch()
    stack.wait_until_registered(name, REAL_RECORDS)
    run = stack.launch_range(name, REAL_RECORDS[0], REAL_RECORDS[-1])

    def one_call_is_left() -> bool:
        # Not accepted: nothing in Dagster says so before the run has ended.
        given_up = run_directory(stack, name) / "records" / "hangs_up_failed_attempt_1"
        materialized, _ = stack.partitions(name, TaskAsset.RECORD_SUMMARY)
        is_live = agent_events(stack.evaluations, held.name)[-1:] == ["start"]
        return materialized == ["first", "second"] and given_up.is_dir() and is_live

    wait_for(f"one call of {name} is left", one_call_is_left)
    return run


def run_directory(stack: DagsterStack, name: str) -> Path:
    return stack.folder / "runs" / name


def attempts(stack: DagsterStack, name: str, record: str) -> int:
    """Return how many attempts a task's journal has started."""
    journal = run_directory(stack, name) / "journal" / f"{record}.jsonl"
    events = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    return sum(event["event"] == "started" for event in events)
