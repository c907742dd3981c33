"""An endpoint that is down is not asked ten thousand times."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from asking import Asking, Sleeps
from judge_server import JudgeServer, answers, fails, hangs, holds, redirects

from orchestrator_assets.errors import JudgeError

MakeAsking = Callable[..., Asking]


async def test_after_an_outage_questions_fail_at_once_until_a_first_one_is_answered(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps
) -> None:
    judge = asking(max_retries=2, outage_pause_seconds=30)
    server.stop()
    await judge.error()
    assert len(judge.ledger()) == 3

    for _ in range(100):
        error = await judge.error()
    assert "not asked for 30 s more, for it gave no answer: the connection failed" in str(error)
    assert len(judge.ledger()) == 3

    server.start()
    sleeps.now += 29
    await judge.error()
    sleeps.now += 2
    assert (await judge.ask()).answer.rating == 3
    assert (await judge.ask()).answer.rating == 3


async def test_the_first_question_after_the_pause_asks_once_and_decides_for_all(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps
) -> None:
    judge = asking(max_retries=2, outage_pause_seconds=30)
    server.script = [fails(500)] * 4
    await judge.error()
    sleeps.now += 31

    assert "HTTP 500" in str(await judge.error())
    assert len(server.requests) == 4
    assert "not asked for 30 s more" in str(await judge.error())


@pytest.mark.parametrize("answered", [True, False])
async def test_only_one_question_finds_out_and_the_others_wait_for_what_it_finds(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps, answered: bool
) -> None:
    held = threading.Event()
    found = holds(held, {"rating": 1, "reason": ""}) if answered else hangs()
    server.script = [fails(500), found]
    judge = asking(max_retries=0, timeout_seconds=60 if answered else 0.5)
    await judge.error()
    sleeps.now += 31

    first = asyncio.ensure_future(judge.ask())
    async with asyncio.timeout(10):
        while len(server.requests) < 2:
            await asyncio.sleep(0.005)
    others = asyncio.gather(judge.ask(), judge.ask(), return_exceptions=True)
    held.set()
    await asyncio.wait({first, others})

    ratings = [getattr(getattr(each, "answer", None), "rating", None) for each in others.result()]
    assert ratings == ([3, 3] if answered else [None, None])
    assert len(server.requests) == (4 if answered else 2)


async def test_a_cancelled_first_question_leaves_it_to_the_next(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps
) -> None:
    server.script = [fails(500), hangs()]
    judge = asking(max_retries=0)
    await judge.error()
    sleeps.now += 31
    first = asyncio.ensure_future(judge.ask())
    async with asyncio.timeout(10):
        while len(server.requests) < 2:
            await asyncio.sleep(0.005)
    first.cancel()
    await asyncio.wait({first})

    assert (await judge.ask()).answer.rating == 3


async def test_a_question_that_waits_to_be_asked_again_gives_up_too(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps
) -> None:
    server.script = [fails(500), fails(401)]
    sleeps.until = asyncio.Event()
    judge = asking(max_retries=5)
    waiting = asyncio.ensure_future(judge.ask())
    async with asyncio.timeout(10):
        while not sleeps:
            await asyncio.sleep(0.005)
    assert "HTTP 401" in str(await judge.error())
    sleeps.until.set()

    with pytest.raises(JudgeError, match="it gave no answer: HTTP 401"):
        await waiting
    assert len(server.requests) == 2


async def test_of_many_questions_only_those_with_a_place_are_asked(
    asking: MakeAsking, server: JudgeServer
) -> None:
    server.script = [fails(500)] * 10_000
    judge = asking(max_retries=5, max_concurrent_requests=8)

    errors = await asyncio.gather(*(judge.ask() for _ in range(1_000)), return_exceptions=True)

    assert all(isinstance(error, JudgeError) for error in errors)
    assert len(server.requests) <= 8 * 6


async def test_a_first_question_that_is_turned_down_shows_that_the_outage_is_over(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps
) -> None:
    server.script = [fails(500), fails(400)]
    judge = asking(max_retries=0)
    await judge.error()
    sleeps.now += 31

    assert "HTTP 400" in str(await judge.error())
    both = await asyncio.gather(judge.ask(), judge.ask())
    assert [each.answer.rating for each in both] == [3, 3]


async def test_a_question_that_fails_while_others_are_answered_is_no_outage(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps
) -> None:
    held = threading.Event()
    judge = asking(max_retries=0, timeout_seconds=0.5)
    server.script = [hangs(), answers({"rating": 2, "reason": ""})]
    slow = asyncio.ensure_future(judge.ask())
    async with asyncio.timeout(10):
        while len(server.requests) < 1:
            await asyncio.sleep(0.005)
    sleeps.now += 0.1
    assert (await judge.ask()).answer.rating == 2
    held.set()
    with pytest.raises(JudgeError, match="no answer within"):
        await slow

    assert (await judge.ask()).answer.rating == 3


@pytest.mark.parametrize("behaviour", [fails(401), fails(404), redirects("/v2")])
async def test_what_is_wrong_for_every_question_is_not_asked_over_and_over(
    asking: MakeAsking, server: JudgeServer, behaviour: object
) -> None:
    server.script = [behaviour]  # type: ignore[list-item]
    judge = asking()

    await judge.error()
    assert "not asked" in str(await judge.error())
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 413, 422])
async def test_what_is_wrong_with_one_question_stops_no_other(
    asking: MakeAsking, server: JudgeServer, status: int
) -> None:
    server.script = [fails(status)]
    judge = asking()

    await judge.error()

    assert (await judge.ask()).answer.rating == 3


async def test_an_unusable_answer_is_no_outage(asking: MakeAsking, server: JudgeServer) -> None:
    server.script = [answers({"rating": 9}), answers({"rating": 9})]
    judge = asking()

    await judge.error()

    assert (await judge.ask()).answer.rating == 3


async def test_a_pause_of_zero_asks_every_time(asking: MakeAsking, server: JudgeServer) -> None:
    server.script = [fails(500)] * 3
    judge = asking(max_retries=0, outage_pause_seconds=0)

    for _ in range(3):
        assert "HTTP 500" in str(await judge.error())
    assert (await judge.ask()).answer.rating == 3
