"""The stream against real WebSocket servers, well-behaved and not."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.transports import twilio
from orchestrator_assets.call.transports.twilio import (
    StreamEndedError,
    TwilioStream,
    open_twilio_stream,
)
from orchestrator_assets.errors import TransportError

Agent = Callable[[ServerConnection], Awaitable[None]]


class Heard:
    """A StreamListener that remembers."""

    def __init__(self) -> None:
        self.news: list[Any] = []

    def on_media(self, payload: bytes) -> None:
        self.news.append(payload)

    def on_mark(self, name: str) -> None:
        self.news.append(name)

    def on_clear(self) -> None:
        self.news.append(None)


@asynccontextmanager
async def stream_to(agent: Agent) -> AsyncIterator[tuple[TwilioStream, Heard]]:
    heard = Heard()
    async with serve(agent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_twilio_stream(f"ws://127.0.0.1:{port}/media", heard) as stream:
            yield stream, heard


async def ended(stream: TwilioStream) -> StreamEndedError:
    """Wait for the agent's side to end and return how."""
    with pytest.raises(StreamEndedError) as caught:
        await stream.wait_for_frame(10**9)
    return caught.value


async def test_we_speak_as_twilio_does() -> None:
    received: list[dict[str, Any]] = []
    complete = asyncio.Event()

    async def agent(connection: ServerConnection) -> None:
        received.extend([json.loads(message) async for message in connection])
        complete.set()

    async with stream_to(agent) as (stream, _):
        await stream.start({"scenario": "x"})
        await stream.send_frame(0, b"\x01" * 160)
        await stream.send_frame(1, b"\x02" * 160)
        await stream.echo_mark("greeting")
        await stream.hang_up()
        await asyncio.wait_for(complete.wait(), 5)
    connected, start, first, second, mark, stop = received
    assert connected == {"event": "connected", "protocol": "Call", "version": "1.0.0"}
    assert start["event"] == "start"
    assert start["start"]["customParameters"] == {"scenario": "x"}
    assert start["start"]["mediaFormat"] == {
        "encoding": "audio/x-mulaw",
        "sampleRate": 8000,
        "channels": 1,
    }
    assert start["start"]["callSid"] == stream.call_sid == stop["stop"]["callSid"]
    assert {message["streamSid"] for message in received[1:]} == {stream.stream_sid}
    assert [message["sequenceNumber"] for message in received[1:]] == ["1", "2", "3", "4", "5"]
    assert [frame["media"]["chunk"] for frame in (first, second)] == ["1", "2"]
    assert [frame["media"]["timestamp"] for frame in (first, second)] == ["0", "20"]
    assert base64.b64decode(second["media"]["payload"]) == b"\x02" * 160
    assert mark["mark"] == {"name": "greeting"}


async def test_media_marks_and_clear_reach_the_listener_in_order() -> None:
    async def agent(connection: ServerConnection) -> None:
        payload = base64.b64encode(b"\x07" * 33).decode()
        for message in (
            {"event": "media", "media": {"payload": payload}},
            {"event": "mark", "mark": {"name": "m"}},
            {"event": "clear"},
            {"event": "something_new"},
            {"event": "mark", "mark": {"name": "tick-x"}},
        ):
            await connection.send(json.dumps(message))

    async with stream_to(agent) as (stream, heard):
        assert (await ended(stream)).reason is EndReason.AGENT_HANGUP
    assert heard.news == [b"\x07" * 33, "m", None, "tick-x"]


async def test_an_agent_that_answers_with_ticks_agrees_to_lockstep() -> None:
    async def agent(connection: ServerConnection) -> None:
        async for raw in connection:
            message = json.loads(raw)
            chunk = {"start": "0", "media": message.get("media", {}).get("chunk")}
            if message["event"] in chunk:
                name = f"tick-{chunk[message['event']]}"
                await connection.send(json.dumps({"event": "mark", "mark": {"name": name}}))

    async with stream_to(agent) as (stream, heard):
        await stream.start({"lockstep": "1"})
        assert await stream.agrees_to_lockstep()
        for frame in range(3):
            await stream.send_frame(frame, b"\xff" * 160)
            await asyncio.wait_for(stream.wait_for_frame(frame), 5)
    assert heard.news == []


async def test_an_agent_that_does_not_know_lockstep_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(twilio, "_LOCKSTEP_ANSWER_SECONDS", 0.05)

    async def agent(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with stream_to(agent) as (stream, _):
        await stream.start({"lockstep": "1"})
        assert not await stream.agrees_to_lockstep()


async def test_an_orderly_close_is_the_agents_hang_up() -> None:
    async def agent(connection: ServerConnection) -> None:
        await connection.close(1000)

    async with stream_to(agent) as (stream, _):
        assert (await ended(stream)).reason is EndReason.AGENT_HANGUP


@pytest.mark.parametrize("code", [1011, 1008, 4000])
async def test_a_close_with_an_error_code_is_a_transport_error(code: int) -> None:
    async def agent(connection: ServerConnection) -> None:
        await connection.close(code, "out of order")

    async with stream_to(agent) as (stream, _):
        end = await ended(stream)
    assert end.reason is EndReason.TRANSPORT_ERROR
    assert f"close code {code}: out of order" in str(end)


async def test_a_connection_that_just_breaks_is_a_transport_error() -> None:
    async def agent(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with stream_to(agent) as (stream, _):
        assert (await ended(stream)).reason is EndReason.TRANSPORT_ERROR
        with pytest.raises(StreamEndedError):
            await stream.send_frame(0, b"\xff" * 160)


@pytest.mark.parametrize(
    "message",
    [
        "not json",
        "[]",
        "{}",
        '{"event": "media"}',
        '{"event": "media", "media": {"payload": "***"}}',
        '{"event": "mark", "mark": null}',
        b"\x00\x01",
    ],
)
async def test_what_is_no_twilio_message_is_a_transport_error_that_shows_it(
    message: str | bytes,
) -> None:
    async def agent(connection: ServerConnection) -> None:
        await connection.send(message)
        await connection.wait_closed()

    async with stream_to(agent) as (stream, _):
        end = await ended(stream)
    assert end.reason is EndReason.TRANSPORT_ERROR
    assert "no Twilio message" in str(end)


async def test_an_agent_that_is_not_there_is_a_transport_error_that_names_it(
    unused_tcp_port: int,
) -> None:
    url = f"ws://127.0.0.1:{unused_tcp_port}/media"
    with pytest.raises(TransportError, match=f"no connection to {url}"):
        async with open_twilio_stream(url, Heard()):
            pass
