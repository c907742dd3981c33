"""Calls that cost no attempt: a provider that is busy, a call interrupted from outside."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_world import GOOD, HANGUP, Call, Listener, World, task, until

from orchestrator_assets.attempts.loop import BusyWaits
from orchestrator_assets.attempts.outcomes import Cause, Outcome
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.errors import InterruptedCallError, ProviderBusyError

A = task("a")
B = task("b")

NO_JITTER = BusyWaits(waits=4, first_seconds=1.0, longest_seconds=4.0, jitter=lambda: 0.0)


def busy(retry_after: float | None = None, *, live: bool = False) -> Call:
    error = ProviderBusyError("HTTP 429", retry_after)
    return Call(raises=error, raises_before_live=not live, leaves_result=False)


def interrupted(*, leaves_result: bool = True) -> Call:
    return Call(
        EndReason.CANCELLED, raises=InterruptedCallError("worker"), leaves_result=leaves_result
    )


@pytest.mark.parametrize("live", [False, True])
async def test_a_busy_provider_is_tried_again_and_costs_no_attempt(
    world: World, live: bool
) -> None:
    world.scripts["a"] = [busy(live=live), busy(live=live), GOOD]

    outcome = await world.settle(A, max_attempts=1, busy_waits=NO_JITTER)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (1, 1)
    assert world.waits == [1.0, 2.0]
    assert world.history(A).count(("started", 1)) == 1


async def test_waits_grow_up_to_the_longest_and_are_stretched_by_chance(world: World) -> None:
    world.scripts["a"] = [busy()] * 4 + [GOOD]
    waits = BusyWaits(waits=4, longest_seconds=4.0, stretch=0.5, jitter=lambda: 1.0)

    await world.settle(A, busy_waits=waits)

    assert world.waits == [1.5, 3.0, 6.0, 6.0]


async def test_never_comes_back_before_the_provider_asked_for(world: World) -> None:
    world.scripts["a"] = [busy(30.0), busy(0.5), GOOD]

    await world.settle(A, busy_waits=NO_JITTER)

    assert world.waits == [30.0, 2.0]


async def test_a_provider_that_stays_busy_is_a_failed_attempt_in_the_end(world: World) -> None:
    world.scripts["a"] = [*[busy()] * 5, GOOD]

    outcome = await world.settle(A, busy_waits=NO_JITTER)

    assert outcome.accepted_attempt == 2
    failed = outcome.attempts[0]
    assert (failed.outcome, failed.cause) == (Outcome.NOT_FINISHED, Cause.PROVIDER)
    assert failed.reason == "the call failed: ProviderBusyError: HTTP 429"
    assert failed.duration_seconds == 0


async def test_who_waits_for_a_busy_provider_keeps_its_admission_and_no_slot(
    world: World,
) -> None:
    asleep = asyncio.Event()
    world.scripts = {each: [busy(), GOOD] for each in "abcdef"}

    async def sleep(seconds: float) -> None:
        await asleep.wait()

    world.sleep = sleep  # type: ignore[method-assign]
    tasks = [task(each) for each in "abcdef"]
    running = asyncio.create_task(world.run(*tasks, concurrent=1, busy_waits=NO_JITTER))
    await until(lambda: len(world.calls) == 2)
    for _ in range(200):
        await asyncio.sleep(0)

    assert len(world.calls) == 2
    asleep.set()
    assert all(outcome.accepted for outcome in await running)


async def test_stopping_ends_the_wait_for_a_busy_provider(world: World) -> None:
    world.scripts["a"] = [busy()]

    async def for_ever(seconds: float) -> None:
        world.waits.append(seconds)
        await asyncio.Event().wait()

    world.sleep = for_ever  # type: ignore[method-assign]
    running = asyncio.create_task(world.run(A, busy_waits=NO_JITTER))
    await until(lambda: bool(world.waits))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert world.journal(A) == []
    assert world.record_directories() == []


async def test_an_interrupted_call_is_archived_and_placed_again_at_once(world: World) -> None:
    world.scripts["a"] = [interrupted(), GOOD]
    world.listener = Listener()

    outcome = await world.settle(A, max_attempts=1)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (2, 1)
    assert [each.interrupted for each in outcome.attempts] == [True, False]
    assert world.history(A)[:3] == [("started", 1), ("cancelled", 1), ("archived", 1)]
    assert world.archived_call(A, 1) == "a#1"
    assert world.judged == [("a", "a#2", False)]
    assert [told[0] for told in world.listener.told] == [
        "started", "ended", "started", "ended", "settled",
    ]  # fmt: skip


async def test_an_interrupted_call_that_left_nothing_leaves_no_archive(world: World) -> None:
    broken = Call(
        raises=InterruptedCallError("worker"), raises_before_live=True, leaves_result=False
    )
    world.scripts["a"] = [broken, GOOD]

    outcome = await world.settle(A, max_attempts=1)

    assert outcome.accepted_attempt == 2
    assert world.record_directories() == ["a"]


@pytest.mark.parametrize("leaves_result", [False, True])
async def test_the_third_interruption_in_a_row_is_a_failed_attempt(
    world: World, leaves_result: bool
) -> None:
    world.scripts["a"] = [*[interrupted(leaves_result=leaves_result)] * 3, GOOD]

    outcome = await world.settle(A, max_attempts=2)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (4, 2)
    assert [each.interrupted for each in outcome.attempts] == [True, True, False, False]
    third = outcome.attempts[2]
    assert (third.outcome, third.cause) == (Outcome.NOT_FINISHED, Cause.HARNESS)
    assert world.judged == [("a", "a#4", False)]


async def test_interruptions_with_failures_in_between_are_not_in_a_row(world: World) -> None:
    once: list[Any] = [interrupted(), interrupted(), HANGUP]
    world.scripts["a"] = [*once, *once, GOOD]

    outcome = await world.settle(A, max_attempts=3)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (7, 3)


async def test_a_kill_after_an_interruption_was_recorded_archives_it_unjudged(
    world: World,
) -> None:
    directory = world.run_directory.task_directory(A)
    directory.mkdir(parents=True)
    world.leave_files(A, 1, directory, interrupted())
    journal = world.run_directory.journal(A)
    journal.append({"event": "started", "attempt": 1, "run_id": "killed"})
    journal.append({"event": "cancelled", "attempt": 1, "run_id": "killed"})

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert world.archived_call(A, 1) == "a#1"
