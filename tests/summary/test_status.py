"""How an evaluation stands, by journals and locks."""

from __future__ import annotations

import asyncio
import json
import shutil

from scripted_world import BAD_CALLER, GOOD, HANGUP, TIMEOUT, World, task, until

from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.records import Task
from orchestrator_assets.store.journal import Journal
from orchestrator_assets.store.lock import TaskLocks
from orchestrator_assets.summary.status import (
    EvaluationStatus,
    Standing,
    TaskStanding,
    read_status,
    status_json,
)

A, B, C, D = (task(name) for name in "abcd")


def read(world: World, *tasks: Task) -> EvaluationStatus:
    return read_status(world.run_directory, tasks)


def only(status: EvaluationStatus, one: Task) -> TaskStanding:
    return next(each for each in status.tasks if each.task is one)


def total(status: EvaluationStatus) -> int:
    return sum(status.count(standing) for standing in Standing)


async def test_counts_tasks_and_attempts(world: World) -> None:
    world.scripts = {"a": [BAD_CALLER, GOOD], "b": [HANGUP], "c": [TIMEOUT]}
    await world.run(A, B, C, max_attempts=2)

    status = read(world, A, B, C, D)

    assert [each.standing for each in status.tasks] == [
        Standing.ACCEPTED,
        Standing.FAILED,
        Standing.ACCEPTED,
        Standing.PENDING,
    ]
    assert total(status) == 4
    assert status.accepted_by(Acceptance.TIME_LIMIT) == 1
    assert status.attempts_by_outcome[Outcome.NOT_FINISHED] == 2
    assert status.attempts_by_cause[Cause.CALLER] == 1
    assert status.last_run is not None
    assert status.last_run.ended_at is not None


async def test_what_is_not_accepted_is_listed_with_its_last_reason(world: World) -> None:
    world.scripts = {"b": [BAD_CALLER]}
    await world.run(A, B, max_attempts=1)

    listed = read(world, D, A, B).not_accepted

    assert [(each.task.id, each.reason) for each in listed] == [
        ("b", "failed user_behavioral_fidelity (it said something else)"),
        ("d", "never called"),
    ]


async def test_a_task_in_progress_says_since_when_and_which_run(world: World) -> None:
    world.scripts = {"a": [HANGUP, GOOD]}
    world.held["a", 2] = asyncio.Event()
    running = asyncio.create_task(world.run(A, B))
    await asyncio.wait_for(world.went_live["a", 2].wait(), 5)
    await until(lambda: read(world, B).count(Standing.ACCEPTED) == 1)

    status = read(world, A, B)
    world.held["a", 2].set()
    await running

    standing = only(status, A)
    assert (standing.standing, standing.reason) == (Standing.IN_PROGRESS, "attempt 2 is live")
    assert standing.run_id == "run-1"
    assert standing.since == standing.history.attempts[2].started_at
    assert status.last_run_is_going_on
    assert total(status) == 2
    assert read(world, A, B).count(Standing.ACCEPTED) == 2


async def test_a_call_that_is_being_judged_is_in_progress(world: World) -> None:
    world.held_judging["a"] = asyncio.Event()
    running = asyncio.create_task(world.run(A))
    await until(lambda: bool(world.judged))

    standing = only(read(world, A), A)
    world.held_judging["a"].set()
    await running

    assert standing.reason == "attempt 1 is being judged"


def test_a_lock_without_a_call_is_in_progress_and_a_dead_one_is_not(world: World) -> None:
    locks = TaskLocks(world.run_directory.locks_path, "run-7")
    locks.acquire(A.key)
    locks.acquire(B.key)
    dead = world.run_directory.locks_path / f"{B.key}.lock"
    dead.write_text(json.dumps({**json.loads(dead.read_text()), "pid": 2**22 + 1}))

    status = read(world, A, B)

    assert (only(status, A).reason, only(status, A).run_id) == ("before its next step", "run-7")
    assert only(status, B).standing is Standing.PENDING


async def test_an_accepted_conversation_that_is_gone_is_pending(world: World) -> None:
    await world.run(A)
    shutil.rmtree(world.run_directory.task_directory(A))

    assert only(read(world, A), A).reason == "its accepted conversation is missing"
    assert read(world, A).count(Standing.PENDING) == 1


async def test_torn_and_damaged_journals_stop_nothing(world: World) -> None:
    await world.run(A, B)
    torn: Journal = world.run_directory.journal(A)
    torn.path.write_bytes(torn.path.read_bytes() + b'{"event": "star')
    world.run_directory.journal(B).path.write_text("garbage\n{}\n")

    status = read(world, A, B)

    assert only(status, A).standing is Standing.ACCEPTED
    assert only(status, B).reason.startswith("its journal is damaged: ")


async def test_is_plain_json(world: World) -> None:
    world.scripts = {"b": [HANGUP]}
    await world.run(A, B, max_attempts=1)

    status = json.loads(json.dumps(status_json("e", world.run_directory, read(world, A, B, C))))

    assert (status["tasks"], status["accepted"], status["failed"], status["pending"]) == (
        3,
        1,
        1,
        1,
    )
    assert status["accepted_by"] == {"validated": 1, "time_limit": 0}
    assert status["last_run"]["going_on"] is False
    assert [each["task"] for each in status["not_accepted"]] == ["b", "c"]
    assert status["not_accepted"][0]["last_cause"] == "agent"


def test_nothing_was_ever_run(world: World) -> None:
    status = read(world, A)

    assert (status.last_run, status.count(Standing.PENDING)) == (None, 1)
    assert not world.root.exists()
