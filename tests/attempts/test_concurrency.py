"""No barrier, slots, order, stopping, and one task's trouble staying its own (A1, A10)."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import aclosing

import pytest
from scripted_world import GOOD, HANGUP, Call, World, task, until

from orchestrator_assets.attempts import loop
from orchestrator_assets.attempts.outcomes import Acceptance
from orchestrator_assets.store.journal import Journal
from orchestrator_assets.store.lock import TaskLocks

A = task("a")
B = task("b")
C = task("c")


async def within(awaitable: object, seconds: float = 5) -> object:
    return await asyncio.wait_for(awaitable, seconds)  # type: ignore[arg-type]


async def test_a_failed_task_retries_while_anothers_first_call_is_still_live(
    world: World,
) -> None:
    world.scripts["a"] = [HANGUP, HANGUP, GOOD]
    world.held["b", 1] = asyncio.Event()
    settled = []

    async def consume() -> None:
        async for outcome in world.attempts(A, B, concurrent=2):
            settled.append(outcome.task.id)
            world.held["b", 1].set()

    await within(consume())

    assert settled == ["a", "b"]
    assert world.calls.index(("b", 1)) < world.calls.index(("a", 3))


async def test_no_more_calls_are_live_than_there_are_slots(world: World) -> None:
    tasks = [task(f"t{number}") for number in range(12)]
    world.held = {(each.id, 1): asyncio.Event() for each in tasks}
    running = asyncio.create_task(world.run(*tasks, concurrent=3))
    await until(lambda: world.live == 3)
    for event in world.held.values():
        event.set()

    outcomes = await within(running)

    assert all(outcome.accepted for outcome in outcomes)  # type: ignore[attr-defined]
    assert world.most_live == 3


async def test_only_a_few_calls_are_prepared_ahead(world: World) -> None:
    tasks = [task(f"t{number}") for number in range(12)]
    for each in tasks:
        world.held[each.id, 1] = asyncio.Event()
    running = asyncio.create_task(world.run(*tasks, concurrent=2))
    await until(lambda: world.live == 2 and len(world.calls) == 4)
    for _ in range(200):
        await asyncio.sleep(0)

    assert len(world.calls) == 4
    for event in world.held.values():
        event.set()
    await within(running)


async def test_the_slot_is_free_while_files_are_written(world: World) -> None:
    world.held_writing["a"] = asyncio.Event()
    world.held_preparing["b"] = asyncio.Event()
    running = asyncio.create_task(world.run(A, B, concurrent=1))
    await until(lambda: ("a", 1) in world.went_live and world.live == 0)

    world.held_preparing["b"].set()
    await within(world.went_live["b", 1].wait())

    assert world.history(A) == [("started", 1)]
    world.held_writing["a"].set()
    await within(running)


async def test_the_slot_is_free_while_a_conversation_is_judged(world: World) -> None:
    world.held_judging["a"] = asyncio.Event()
    world.held_preparing["b"] = asyncio.Event()
    running = asyncio.create_task(world.run(A, B, concurrent=1))
    await until(lambda: bool(world.judged))

    world.held_preparing["b"].set()
    await within(world.went_live["b", 1].wait())

    assert world.history(A) == [("started", 1), ("ended", 1)]
    world.held_judging["a"].set()
    await within(running)


async def test_the_longest_expected_calls_start_first(world: World) -> None:
    tasks = [task(f"turns-{turns}", turns=turns) for turns in (2, 9, 4, 7, 1)]
    world.held_preparing = {each.id: asyncio.Event() for each in tasks}
    running = asyncio.create_task(world.run(*tasks, concurrent=1))
    await until(lambda: len(world.calls) == 2)
    assert {called for called, _ in world.calls} == {"turns-9", "turns-7"}

    for count, following in enumerate(("turns-4", "turns-2", "turns-1"), start=3):
        world.held_preparing[world.calls[count - 3][0]].set()
        await until(lambda count=count: len(world.calls) == count)  # type: ignore[misc]
        assert world.calls[-1] == (following, 1)

    for event in world.held_preparing.values():
        event.set()
    await within(running)


async def test_the_event_loop_never_waits_for_the_disk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    appending = threading.Event()
    release = threading.Event()
    append = Journal.append

    def slow_append(self: Journal, entry: dict[str, object]) -> None:
        if entry.get("event") == "started":
            appending.set()
            release.wait(5)
        append(self, entry)

    monkeypatch.setattr(Journal, "append", slow_append)
    running = asyncio.create_task(world.run(A))
    await until(appending.is_set)
    release.set()

    [outcome] = await within(running)  # type: ignore[misc]
    assert outcome.accepted


async def test_a_consumer_that_stops_iterating_hangs_up_what_is_live(world: World) -> None:
    world.held["b", 1] = asyncio.Event()
    async with aclosing(world.attempts(A, B)) as outcomes:
        async for outcome in outcomes:
            assert outcome.task.id == "a"
            await within(world.went_live["b", 1].wait())
            break

    assert world.hung_up == ["b"]
    assert world.history(B) == [("started", 1), ("cancelled", 1)]
    assert (world.live, list(world.run_directory.locks_path.glob("*.lock"))) == (0, [])


async def test_a_cancelled_consumer_hangs_up_what_is_live(world: World) -> None:
    world.held["a", 1] = asyncio.Event()
    running = asyncio.create_task(world.run(A))
    await within(world.went_live["a", 1].wait())

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(running)

    assert world.history(A) == [("started", 1), ("cancelled", 1)]
    assert world.live == 0


async def test_a_call_that_never_went_live_leaves_no_trace_when_cancelled(world: World) -> None:
    world.held["a", 1] = asyncio.Event()
    world.held["b", 1] = asyncio.Event()
    running = asyncio.create_task(world.run(A, B, concurrent=1))
    await until(lambda: world.live == 1 and len(world.calls) == 2)
    live, waiting = (A, B) if ("a", 1) in world.went_live else (B, A)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(running)

    assert world.history(live) == [("started", 1), ("cancelled", 1)]
    assert world.journal(waiting) == []
    assert world.record_directories() == [live.id]


async def test_a_cancelled_attempt_costs_no_budget_and_keeps_its_number(world: World) -> None:
    world.held["a", 1] = asyncio.Event()
    running = asyncio.create_task(world.run(A))
    await within(world.went_live["a", 1].wait())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(running)
    world.scripts["a"] = [HANGUP]

    outcome = await world.settle(A, max_attempts=2)

    assert world.calls == [("a", 1), ("a", 2), ("a", 3)]
    assert outcome.attempts_made == 2
    assert outcome.attempts[0].interrupted


async def test_a_call_that_ended_as_the_run_was_stopped_is_not_repeated(world: World) -> None:
    world.held_judging["a"] = asyncio.Event()
    running = asyncio.create_task(world.run(A))
    await until(lambda: bool(world.judged))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(running)
    del world.held_judging["a"]

    outcome = await world.settle(A)

    assert (outcome.acceptance, outcome.attempts_made) == (Acceptance.VALIDATED, 0)
    assert world.history(A).count(("cancelled", 1)) == 0


async def test_runs_note_their_start_and_end_even_when_stopped(world: World) -> None:
    world.held["a", 1] = asyncio.Event()
    running = asyncio.create_task(world.run(A))
    await within(world.went_live["a", 1].wait())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(running)

    assert [entry["event"] for entry in world.run_directory.runs.read()] == ["started", "ended"]


async def test_a_task_that_another_run_works_on_is_left_alone(world: World) -> None:
    other = TaskLocks(world.run_directory.locks_path, "other-run")
    other.acquire("a")

    blocked, good = await world.run(A, B)

    assert good.accepted
    assert blocked.error is not None
    assert "run other-run is working on it" in blocked.error
    assert f"process {os.getpid()}" in blocked.error
    assert world.calls == [("b", 1)]
    other.release("a")
    assert (await world.settle(A)).accepted


async def test_a_run_shows_that_it_is_alive_as_long_as_a_call_is_live(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HEARTBEAT_SECONDS", 0)
    world.held["a", 1] = asyncio.Event()
    running = asyncio.create_task(world.run(A))
    await within(world.went_live["a", 1].wait())
    lock = world.run_directory.locks_path / "a.lock"

    os.utime(lock, (0, 0))
    await until(lambda: lock.stat().st_mtime > 0)

    world.held["a", 1].set()
    (outcome,) = await within(running)
    assert outcome.accepted


class _Stop(BaseException):
    """Stands for KeyboardInterrupt, which would end the event loop of the test as well."""


async def test_what_is_no_exception_is_never_taken_for_an_outcome(world: World) -> None:
    world.scripts["a"] = [Call(raises=_Stop())]
    world.held["b", 1] = asyncio.Event()

    with pytest.raises(BaseExceptionGroup) as raised:
        await within(world.run(A, B))

    assert raised.group_contains(_Stop)
    assert [entry["event"] for entry in world.journal(A)] == ["started"]
    assert world.live == 0


async def test_tasks_that_wait_for_their_turn_are_not_begun(world: World) -> None:
    tasks = [task(f"t{number}") for number in range(300)]
    world.held = {(each.id, 1): asyncio.Event() for each in tasks}
    before = len(asyncio.all_tasks())
    running = asyncio.create_task(world.run(*tasks, concurrent=2))
    await until(lambda: world.live == 2 and len(world.calls) == 4)

    assert len(asyncio.all_tasks()) - before < 20
    assert len(list(world.run_directory.locks_path.glob("*.lock"))) <= 4
    for event in world.held.values():
        event.set()
    assert all(outcome.accepted for outcome in await asyncio.wait_for(running, 30))
