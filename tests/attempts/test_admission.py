"""In which order attempts are admitted (A1)."""

from __future__ import annotations

import asyncio

import pytest
from scripted_world import until

from orchestrator_assets.attempts.admission import Admission, CallSlot, Ticket
from orchestrator_assets.errors import StorageError


async def admitted_in_order(admission: Admission, *wanted: tuple[str, bool, float]) -> list[str]:
    """Let all wait behind one holder, and return the order in which they get in."""
    order: list[str] = []

    async def attempt(name: str, is_retry: bool, seconds: float) -> None:
        await admission.enter(is_retry=is_retry, expected_seconds=seconds)
        order.append(name)
        admission.leave()

    await admission.enter(is_retry=False, expected_seconds=0)
    async with asyncio.TaskGroup() as group:
        for each in wanted:
            group.create_task(attempt(*each))
        await asyncio.sleep(0)
        admission.leave()
    return order


async def test_the_longest_expected_is_admitted_first() -> None:
    order = await admitted_in_order(
        Admission(1), ("short", False, 1.0), ("long", False, 9.0), ("middle", False, 5.0)
    )

    assert order == ["long", "middle", "short"]


async def test_a_retry_goes_before_first_attempts_that_are_waiting() -> None:
    order = await admitted_in_order(Admission(1), ("long", False, 9.0), ("retry", True, 1.0))

    assert order == ["retry", "long"]


async def test_equals_are_admitted_in_the_order_in_which_they_came() -> None:
    order = await admitted_in_order(Admission(1), *((name, False, 1.0) for name in "abcd"))

    assert order == ["a", "b", "c", "d"]


@pytest.mark.parametrize("granted", [False, True])
async def test_who_is_cancelled_while_waiting_takes_no_admission_away(granted: bool) -> None:
    admission = Admission(1)
    await admission.enter(is_retry=False, expected_seconds=0)
    waiting = asyncio.create_task(admission.enter(is_retry=False, expected_seconds=9))
    await asyncio.sleep(0)
    if granted:
        admission.leave()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    if not granted:
        admission.leave()

    await asyncio.wait_for(admission.enter(is_retry=False, expected_seconds=0), 5)


async def test_a_slot_is_given_back_when_going_live_fails() -> None:
    slots = Admission(1)
    ticket = Ticket(Admission(1), 0)

    async def fail() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        async with CallSlot(slots, ticket, fail):
            raise AssertionError("went live")

    await asyncio.wait_for(slots.enter(is_retry=False, expected_seconds=0), 5)


async def test_the_admission_ends_with_the_live_call() -> None:
    admission = Admission(1)
    ticket, other = Ticket(admission, 0), Ticket(admission, 0)
    await ticket.obtain()
    waiting = asyncio.create_task(other.obtain())

    async with CallSlot(Admission(1), ticket, _nothing):
        await asyncio.sleep(0)
        assert not waiting.done()

    await until(waiting.done)


async def test_a_retry_gets_a_slot_before_calls_that_are_prepared() -> None:
    slots, order = Admission(1), list[str]()

    async def call(name: str, *, is_retry: bool) -> None:
        ticket = Ticket(Admission(1), 0)
        await ticket.obtain(is_retry=is_retry)
        async with CallSlot(slots, ticket, _nothing):
            order.append(name)

    await slots.enter(is_retry=False, expected_seconds=0)
    async with asyncio.TaskGroup() as group:
        for name in ("first", "second"):
            group.create_task(call(name, is_retry=False))
        group.create_task(call("retry", is_retry=True))
        await asyncio.sleep(0)
        slots.leave()

    assert order == ["retry", "first", "second"]


async def _nothing() -> None:
    return None


async def test_once_closed_who_waits_and_who_comes_is_turned_away_and_who_is_in_stays() -> None:
    admission = Admission(1)
    inside, waiting = Ticket(admission, 0), Ticket(admission, 0)
    await inside.obtain()
    turned_away = asyncio.create_task(waiting.obtain())
    await asyncio.sleep(0)

    admission.close("the disk is full")

    with pytest.raises(StorageError, match="the disk is full"):
        await turned_away
    with pytest.raises(StorageError, match="the disk is full"):
        await Ticket(admission, 0).obtain()
    inside.give_back()
