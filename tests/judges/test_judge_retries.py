"""Endpoints that give no answer: what is asked again, after how long, and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from asking import Asking, Sleeps
from judge_server import (
    Behaviour,
    JudgeServer,
    closes,
    cuts_the_body,
    drips,
    fails,
    hangs,
    redirects,
    says,
)

MakeAsking = Callable[..., Asking]

PASSING = {
    "429": (fails(429, message="slow down"), "HTTP 429: slow down"),
    "408": (fails(408), "HTTP 408"),
    "500": (fails(500), "HTTP 500"),
    "502": (fails(502), "HTTP 502"),
    "503": (fails(503), "HTTP 503"),
    "closed without a word": (closes(), "the connection failed: "),
    "cut in the middle": (cuts_the_body(), "the connection failed: "),
}

LASTING = {
    "400": (fails(400, message="context too long"), "HTTP 400: context too long"),
    "401": (
        fails(401, message="who are you?"),
        "HTTP 401: who are you?; is $OPENAI_API_KEY right?",
    ),
    "403": (fails(403, message="not for you"), "HTTP 403: not for you"),
    "404": (fails(404, message="no model test-judge"), "HTTP 404: no model test-judge"),
    "422": (fails(422), "HTTP 422"),
    "429 for good": (fails(429, {"x-should-retry": "false"}, "pay up"), "HTTP 429: pay up"),
    "a redirect": (
        redirects("https://u:p@other.example/v1?api_key=abcdef"),
        "HTTP 307: it points to https://***@other.example/v1?api_key=***; correct its base_url",
    ),
    "a redirect that makes it a GET": (redirects("/v2", 302), "HTTP 302: it points to http://"),
}


@pytest.mark.parametrize(("behaviour", "why"), PASSING.values(), ids=PASSING)
async def test_what_may_pass_is_asked_again(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps, behaviour: Behaviour, why: str
) -> None:
    server.script = [behaviour, behaviour]
    judge = asking()

    judgement = await judge.ask()

    assert judgement.answer.rating == 3
    assert judgement.use.calls == 1
    assert judge.outcomes() == ["no_answer", "no_answer", "answered"]
    assert why in str(judge.ledger()[0].error)
    assert 1.0 <= sleeps[0] <= 1.25
    assert 2.0 <= sleeps[1] <= 2.5


@pytest.mark.parametrize(("behaviour", "why"), PASSING.values(), ids=PASSING)
async def test_what_does_not_pass_is_an_error_after_all_retries(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps, behaviour: Behaviour, why: str
) -> None:
    server.script = [behaviour] * 4
    judge = asking(max_retries=3)

    error = await judge.error()

    assert why in str(error)
    assert str(error).startswith(f"test-judge at {server.base_url}: ")
    assert error.raw_answer is None
    assert error.use is not None
    assert error.use.calls == 0
    assert len(server.requests) == 4
    assert len(sleeps) == 3
    assert judge.outcomes() == ["no_answer"] * 4


@pytest.mark.parametrize(("behaviour", "why"), LASTING.values(), ids=LASTING)
async def test_what_will_not_pass_is_asked_once(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps, behaviour: Behaviour, why: str
) -> None:
    server.script = [behaviour]
    judge = asking()

    error = await judge.error()

    assert why in str(error)
    assert len(server.requests) == 1
    assert server.probes == []
    assert sleeps == []
    assert judge.outcomes() == ["no_answer"]


@pytest.mark.parametrize("behaviour", [hangs(), drips()], ids=["silent", "byte by byte"])
async def test_an_endpoint_that_is_too_slow_is_given_up(
    asking: MakeAsking, server: JudgeServer, behaviour: Behaviour
) -> None:
    server.script = [behaviour, behaviour]
    judge = asking(timeout_seconds=0.15, max_retries=1)

    error = await judge.error()

    assert str(error).endswith(": no answer within 0.15 s")
    assert len(server.requests) == 2
    assert [call.outcome.value for call in judge.ledger()] == ["no_answer", "no_answer"]
    assert all(call.seconds >= 0.15 for call in judge.ledger())


async def test_an_endpoint_that_is_not_there_is_an_error(
    asking: MakeAsking, server: JudgeServer
) -> None:
    server.stop()
    judge = asking(max_retries=2)

    error = await judge.error()

    assert "the connection failed: " in str(error)
    assert judge.outcomes() == ["no_answer"] * 3


async def test_a_host_without_an_address_is_an_error(asking: MakeAsking) -> None:
    judge = asking(
        {"OPENAI_API_KEY": "k-123456"}, max_retries=0, base_url="http://judge.invalid/v1"
    )

    assert "the connection failed: " in str(await judge.error())


async def test_what_speaks_no_http_is_an_error(asking: MakeAsking) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n")
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        judge = asking(max_retries=0, base_url=f"http://127.0.0.1:{port}/v1")

        assert "the connection failed: " in str(await judge.error())


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "7.5"}, 7.5),
        ({"retry-after-ms": "2500"}, 2.5),
        ({"Retry-After": "0"}, 1.0),
        ({"Retry-After": "-5"}, 1.0),
        ({"Retry-After": "nan"}, 1.0),
        ({"Retry-After": "soon"}, 1.0),
        ({"Retry-After": format_datetime(datetime(2020, 1, 1, tzinfo=UTC))}, 1.0),
    ],
)
async def test_a_busy_endpoint_is_given_the_time_it_asks_for_and_a_little_more(
    asking: MakeAsking,
    server: JudgeServer,
    sleeps: Sleeps,
    headers: dict[str, str],
    seconds: float,
) -> None:
    server.script = [fails(429, headers), fails(503, headers)]

    await asking().ask()

    assert seconds <= sleeps[0] <= seconds * 1.25
    assert max(seconds, 2.0) <= sleeps[1] <= max(seconds, 2.0) * 1.25


async def test_the_time_may_be_given_as_a_date(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps
) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    server.script = [fails(429, {"Retry-After": date})]

    await asking().ask()

    assert 30 < sleeps[0] <= 50


@pytest.mark.parametrize("wait", ["600", "1e9"])
async def test_nobody_waits_for_long_but_nobody_asks_again_before(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps, wait: str
) -> None:
    seconds = 600 if wait == "600" else 3_600
    server.script = [fails(429, {"Retry-After": wait})]
    judge = asking(outage_pause_seconds=30)

    assert "HTTP 429" in str(await judge.error())
    assert sleeps == []

    sleeps.now += seconds - 1
    assert "not asked for 1 s more" in str(await judge.error())
    assert len(server.requests) == 1

    sleeps.now += 2
    assert (await judge.ask()).answer.rating == 3


async def test_waits_grow_up_to_a_minute(
    asking: MakeAsking, server: JudgeServer, sleeps: Sleeps
) -> None:
    server.script = [fails(500)] * 10
    await asking(max_retries=9).error()

    assert [round(wait / 1.125) for wait in sleeps[:3]] == [1, 2, 4]
    assert all(60 <= wait <= 75 for wait in sleeps[6:])


async def test_an_answer_that_is_lost_on_the_second_try_keeps_what_the_first_cost(
    asking: MakeAsking, server: JudgeServer
) -> None:
    server.script = [says("no JSON"), fails(500)]
    judge = asking(max_retries=0, answer_tries=2)

    error = await judge.error()

    assert "HTTP 500" in str(error)
    assert error.raw_answer == "no JSON"
    assert error.use is not None
    assert (error.use.calls, error.use.input_tokens) == (1, 100)


async def test_the_key_is_sent_but_nowhere_shown(
    asking: MakeAsking, server: JudgeServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    key = "sk-very-secret-1"
    server.script = [fails(401, message=f"bad key {key}"), closes()]
    judge = asking({"OPENAI_API_KEY": key}, outage_pause_seconds=0)

    error = await judge.error()
    await judge.ask()

    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert "bad key ***" in str(error)
    assert key not in repr(judge.judge.__dict__)
    assert key not in (judge.directory / "judge_calls.jsonl").read_text()
    assert key not in caplog.text


async def test_user_and_password_of_the_address_are_sent_but_nowhere_shown(
    asking: MakeAsking, server: JudgeServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    url = f"http://me:pa%20ss-word@127.0.0.1:{server.port}/v1"
    server.script = [fails(401)]
    judge = asking(base_url=url, outage_pause_seconds=0)

    error = await judge.error()
    await judge.ask()

    assert server.requests[0].headers["authorization"] == "Basic bWU6cGEgc3Mtd29yZA=="
    assert f"test-judge at http://127.0.0.1:{server.port}/v1: HTTP 401" in str(error)
    assert "is the user in its base_url right?" in str(error)
    for shown in (str(error), caplog.text, (judge.directory / "judge_calls.jsonl").read_text()):
        assert "ss-word" not in shown
        assert "bWU6cGEgc3Mtd29yZA" not in shown
