"""A disk that takes no more: nobody is called any more, and what is recorded stays (S1)."""

from __future__ import annotations

import asyncio
import errno
import shutil
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from scripted_world import GOOD, HANGUP, Call, World, task, until

from orchestrator_assets.attempts import task_files
from orchestrator_assets.attempts.events import AttemptEvent
from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.errors import StorageError
from orchestrator_assets.store import runs
from orchestrator_assets.store.disk import KEPT_FREE_BYTES, raise_if_storage
from orchestrator_assets.store.journal import Journal

A = task("a")
B = task("b")
TASKS = [task(f"t{number}") for number in range(9)]


def full(number: int = errno.ENOSPC) -> OSError:
    return OSError(number, "No space left on device")


def fail_to_record(
    monkeypatch: pytest.MonkeyPatch, which: Callable[[AttemptEvent], bool], number: int
) -> None:
    append = task_files.append_event

    def append_if_there_is_room(journal: Journal, event: AttemptEvent) -> None:
        if which(event):
            raise full(number)
        append(journal, event)

    monkeypatch.setattr(task_files, "append_event", append_if_there_is_room)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
async def test_a_call_that_cannot_be_recorded_is_not_placed_and_ends_the_run(
    world: World, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    fail_to_record(monkeypatch, lambda event: event.event == "started", number)

    with pytest.raises(StorageError, match="nothing more can be written: No space left on device"):
        await world.run(*TASKS, concurrent=2)

    assert world.most_live == 0
    assert len(world.calls) <= 4
    assert not list(world.run_directory.locks_path.glob("*.lock"))


async def test_a_call_that_may_find_the_disk_full_before_it_ends_is_not_placed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.scripts["a"] = [HANGUP]
    room = [KEPT_FREE_BYTES, KEPT_FREE_BYTES - 1]
    usage = shutil.disk_usage(world.root.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=room.pop(0)))

    with pytest.raises(StorageError, match=r"only 64 MB are free at .*; make room"):
        await world.run(A)

    assert world.calls == [("a", 1)]
    assert world.record_directories() == ["a_failed_attempt_1"]


async def test_live_calls_end_and_are_kept_and_judged_by_the_next_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.held["b", 1] = asyncio.Event()
    with monkeypatch.context() as disk:
        fail_to_record(disk, lambda event: event.event == "ended", errno.ENOSPC)
        running = asyncio.create_task(world.run(A, B, *TASKS, concurrent=2))
        await until(lambda: ("b", 1) in world.went_live)
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert not running.done()
        world.held["b", 1].set()
        with pytest.raises(StorageError):
            await running
        placed = list(world.calls)

    assert world.hung_up == []
    assert len(placed) < len(TASKS)
    outcomes = await world.run(A, B, *TASKS)
    assert all(outcome.accepted for outcome in outcomes)
    assert outcomes[1].attempts_made == 0
    assert {outcome.accepted_attempt for outcome in outcomes} == {1}


async def test_tasks_that_had_settled_are_yielded_before_the_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.held_preparing["b"] = asyncio.Event()
    outcomes: AsyncIterator[TaskOutcome] = world.attempts(A, B, concurrent=1)

    assert (await anext(outcomes)).accepted
    fail_to_record(monkeypatch, lambda event: event.event == "judged", errno.ENOSPC)
    world.held_preparing["b"].set()
    with pytest.raises(StorageError):
        await anext(outcomes)


async def test_no_failed_attempt_is_tried_again_once_the_disk_is_full(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.scripts["a"] = [HANGUP, GOOD]
    fail_to_record(monkeypatch, lambda event: event.event == "archived", errno.ENOSPC)

    with pytest.raises(StorageError):
        await world.settle(A)

    assert world.calls == [("a", 1)]
    assert world.current_call(A) == "a#1"


async def test_a_call_that_found_the_disk_full_counts_as_interrupted(world: World) -> None:
    world.scripts["a"] = [Call(raises=full(), leaves_result=False), GOOD]

    with pytest.raises(StorageError):
        await world.settle(A)
    outcome = await world.settle(A, max_attempts=1)

    assert world.history(A)[:2] == [("started", 1), ("cancelled", 1)]
    assert (outcome.accepted_attempt, outcome.attempts_made) == (2, 1)


async def test_a_judge_that_finds_the_disk_full_costs_no_call(world: World) -> None:
    world.judge_errors["a"] = full()

    with pytest.raises(StorageError):
        await world.settle(A)
    world.judge_errors.clear()
    outcome = await world.settle(A)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (1, 0)


async def test_metrics_that_find_the_disk_full_leave_the_task_accepted(world: World) -> None:
    world.metric_errors["a"] = full()

    with pytest.raises(StorageError):
        await world.settle(A)
    world.metric_errors.clear()
    outcome = await world.settle(A)

    assert (outcome.accepted_attempt, outcome.reused) == (1, True)
    assert outcome.metrics


async def test_a_run_that_cannot_even_be_recorded_calls_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def append(*_: Any, **__: Any) -> None:
        raise full(errno.EROFS)

    monkeypatch.setattr(runs, "_append", append)

    with pytest.raises(StorageError):
        await world.run(A)

    assert world.calls == []


async def test_other_faults_of_the_disk_stay_the_tasks_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_events = task_files.read_events

    def read(journal: Journal) -> list[AttemptEvent]:
        if journal.path.stem == "a":
            raise OSError(errno.EIO, "Input/output error")
        return read_events(journal)

    monkeypatch.setattr(task_files, "read_events", read)

    broken, good = await world.run(A, B)

    assert (broken.error, good.accepted) == ("OSError: [Errno 5] Input/output error", True)


def test_a_full_disk_is_found_behind_other_errors() -> None:
    try:
        try:
            raise full()
        except OSError as error:
            raise ValueError("could not write the audio") from error
    except ValueError as error:
        with pytest.raises(StorageError):
            raise_if_storage(error)
    raise_if_storage(ValueError("something else"))
