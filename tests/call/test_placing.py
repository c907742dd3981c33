"""Whole calls over a real WebSocket with real speech, to the demo agent and to broken ones."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import numpy as np
import pytest
import soundfile
from file_writes import files_written_below, written_in_place
from placed_calls import SHORT_SCRIPT, WAV_FILES, Engines, demo_agent, place, read_lines
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.conversation import ConversationResult, EndReason
from orchestrator_assets.call.transports import twilio
from orchestrator_assets.call.worker_messages import portable
from orchestrator_assets.errors import ProviderBusyError, SpeechEngineError
from orchestrator_assets.evaluation import ClockKind


@asynccontextmanager
async def broken_agent(
    handle: Callable[[ServerConnection], Awaitable[None]],
) -> AsyncIterator[AgentAddress]:
    async with serve(handle, "127.0.0.1", 0) as server:
        yield AgentAddress(f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}")


async def test_a_call_is_heard_on_both_tracks_by_an_independent_ear(
    engines: Engines, tmp_path: Path
) -> None:
    async with demo_agent(engines) as address:
        result = await place(address, engines, tmp_path)
    assert result.conversation_ended_reason is EndReason.GOODBYE
    assert result.completed
    assert result.clock == "media"
    heard = {}
    for name in ("audio_user.wav", "audio_assistant.wav", "audio_mixed.wav"):
        samples, rate = soundfile.read(tmp_path / name, dtype="int16")
        doubled = np.repeat(samples, 2) if rate == 8_000 else samples
        heard[name] = engines[1].transcribe(doubled).lower()
    assert "appointment" in heard["audio_user.wav"]
    assert "goodbye" in heard["audio_user.wav"]
    assert "booking code" in heard["audio_assistant.wav"]
    assert "appointment" in heard["audio_mixed.wav"]
    assert "booking code" in heard["audio_mixed.wav"]
    assert "booking code" not in heard["audio_user.wav"]


async def test_a_call_leaves_all_its_files_on_one_time_line(
    engines: Engines, tmp_path: Path
) -> None:
    async with demo_agent(engines) as address:
        result = await place(address, engines, tmp_path)
    durations = {name: soundfile.info(tmp_path / name).duration for name in WAV_FILES}
    assert set(durations.values()) == {result.duration_seconds}
    assert result.time_limit_seconds == 60
    assert ConversationResult.model_validate_json((tmp_path / "result.json").read_bytes()) == result
    transcript = read_lines(tmp_path / "transcript.jsonl")
    assert [row["role"] for row in transcript] == [
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    starts = [row["start_seconds"] for row in transcript]
    assert starts == sorted(starts)
    events = read_lines(tmp_path / "user_simulator_events.jsonl")
    assert events[-1]["data"]["details"]["reason"] == "goodbye"
    report = json.loads((tmp_path / "final_scenario_db.json").read_text(encoding="utf-8"))
    assert report == json.loads((tmp_path / "initial_scenario_db.json").read_text(encoding="utf-8"))
    assert "the call ended by goodbye" in (tmp_path / "logs.log").read_text(encoding="utf-8")


async def test_only_what_grows_during_the_call_is_written_in_place(
    engines: Engines, tmp_path: Path
) -> None:
    with files_written_below(tmp_path) as written:
        async with demo_agent(engines) as address:
            await place(address, engines, tmp_path)

    assert (tmp_path / "result.json").exists()
    assert written_in_place(written) == {*WAV_FILES, "user_simulator_events.jsonl", "logs.log"}


async def test_turns_are_audible_where_the_transcript_says(
    engines: Engines, tmp_path: Path
) -> None:
    async with demo_agent(engines) as address:
        await place(address, engines, tmp_path)
    samples, rate = soundfile.read(tmp_path / "audio_user_clean.wav", dtype="int16")
    spoken = np.zeros(len(samples), dtype=bool)
    for row in read_lines(tmp_path / "transcript.jsonl"):
        if row["role"] == "user":
            span = slice(round(row["start_seconds"] * rate), round(row["end_seconds"] * rate))
            spoken[span] = True
            assert np.abs(samples[span]).max() > 1_000
    assert not samples[~spoken].any()


async def test_two_calls_on_the_media_clock_give_the_same_bytes(
    engines: Engines, tmp_path: Path
) -> None:
    async with demo_agent(engines) as address:
        await asyncio.gather(*(place(address, engines, tmp_path / name) for name in ("one", "two")))
    for name in WAV_FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


async def test_an_agent_without_lockstep_is_called_in_real_time(
    engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(twilio, "_LOCKSTEP_ANSWER_SECONDS", 0.05)

    async def silent(connection: ServerConnection) -> None:
        async for _ in connection:
            continue

    async with broken_agent(silent) as address:
        result = await place(address, engines, tmp_path, limit=0.5)
    assert result.clock == "wall"
    assert result.conversation_ended_reason is EndReason.TIME_LIMIT_EXCEEDED
    assert not result.completed
    assert result.duration_seconds == 0.5
    assert result.frame_lateness is not None
    assert (result.ended_at - result.started_at).total_seconds() >= 0.5


async def test_a_silent_agent_is_left_and_both_tracks_are_equally_long(
    engines: Engines, tmp_path: Path
) -> None:
    parameters = {"fault": "dead_air"}
    script = [SHORT_SCRIPT[0], "My booking code is 55329.", "Goodbye."]
    async with demo_agent(engines) as address:
        result = await place(address, engines, tmp_path, turns=script, agent_parameters=parameters)
    assert result.conversation_ended_reason is EndReason.INACTIVITY_TIMEOUT
    assert {soundfile.info(tmp_path / name).duration for name in WAV_FILES} == {
        result.duration_seconds
    }


async def test_the_agents_hang_up_is_told_from_a_broken_connection(
    engines: Engines, tmp_path: Path
) -> None:
    script = [SHORT_SCRIPT[0], "My booking code is 55329.", "Goodbye."]
    async with demo_agent(engines) as address:
        result = await place(
            address,
            engines,
            tmp_path / "hang_up",
            turns=script,
            agent_parameters={"fault": "hangs_up"},
        )
    assert result.conversation_ended_reason is EndReason.AGENT_HANGUP

    async def drop(connection: ServerConnection) -> None:
        for _ in range(20):
            await connection.recv()
        connection.transport.abort()

    async with broken_agent(drop) as address:
        result = await place(address, engines, tmp_path / "drop", clock=ClockKind.WALL)
    assert result.conversation_ended_reason is EndReason.TRANSPORT_ERROR
    assert result.error is not None
    assert soundfile.info(tmp_path / "drop" / "audio_user.wav").duration > 0.1


async def test_an_agent_that_can_not_be_reached_is_a_result_with_all_files(
    engines: Engines, tmp_path: Path, unused_tcp_port: int
) -> None:
    url = f"ws://127.0.0.1:{unused_tcp_port}/media"
    result = await place(AgentAddress(url), engines, tmp_path)
    assert result.conversation_ended_reason is EndReason.TRANSPORT_ERROR
    assert result.error_details is not None
    assert result.error_details.error_type == "TransportError"
    events = read_lines(tmp_path / "user_simulator_events.jsonl")
    assert events[-1]["data"]["details"]["reason"] == "transport_error"
    assert all((tmp_path / name).exists() for name in WAV_FILES)


async def test_a_busy_agent_was_not_called_and_says_when_to_call_it(
    engines: Engines, tmp_path: Path
) -> None:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        response = connection.respond(HTTPStatus.TOO_MANY_REQUESTS, "later")
        response.headers["Retry-After"] = "7"
        return response

    async with serve(lambda _: asyncio.sleep(0), "127.0.0.1", 0, process_request=refuse) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        with pytest.raises(ProviderBusyError, match=r"is busy \(HTTP 429\)") as busy:
            await place(AgentAddress(f"ws://127.0.0.1:{port}/media"), engines, tmp_path)

    from_the_worker = portable(busy.value)
    assert isinstance(from_the_worker, ProviderBusyError)
    assert from_the_worker.retry_after_seconds == 7
    assert not (tmp_path / "result.json").exists()


async def test_secrets_in_the_agents_url_are_in_no_file_of_the_call(
    engines: Engines, tmp_path: Path, unused_tcp_port: int
) -> None:
    url = f"ws://user:hush@127.0.0.1:{unused_tcp_port}/media?api_key=hush&tenant=x"
    await place(
        AgentAddress(url, f"http://127.0.0.1:{unused_tcp_port}/?token=hush"), engines, tmp_path
    )
    silent = broken_agent(lambda connection: connection.wait_closed())
    async with silent as address:
        secret = AgentAddress(f"{address.url}/?api_key=hush", f"{url.replace('ws', 'http', 1)}")
        await place(secret, engines, tmp_path / "reached", clock=ClockKind.WALL, limit=0.1)
    texts = {
        path: path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file() and path.suffix != ".wav"
    }
    assert len(texts) >= 8
    assert [path for path, text in texts.items() if b"hush" in text] == []
    assert any(b"tenant=x" in text for text in texts.values())


async def test_a_cancelled_call_hangs_up_and_keeps_what_was_recorded(
    engines: Engines, tmp_path: Path
) -> None:
    hung_up = asyncio.Event()
    under_way = asyncio.Event()

    async def listen(connection: ServerConnection) -> None:
        async for raw in connection:
            message = json.loads(raw)
            if message["event"] == "media" and int(message["media"]["chunk"]) == 30:
                under_way.set()
            if message["event"] == "stop":
                hung_up.set()

    async with broken_agent(listen) as address:
        call = asyncio.create_task(place(address, engines, tmp_path, clock=ClockKind.WALL))
        await asyncio.wait_for(under_way.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(hung_up.wait(), 5)
    result = ConversationResult.model_validate_json((tmp_path / "result.json").read_bytes())
    assert result.conversation_ended_reason is EndReason.CANCELLED
    assert not result.completed
    assert result.duration_seconds >= 0.5
    assert soundfile.info(tmp_path / "audio_user.wav").duration == result.duration_seconds


async def test_a_failing_recogniser_costs_the_transcript_and_not_the_call(
    engines: Engines, tmp_path: Path
) -> None:
    class Deaf:
        sample_rate_hz = 16_000

        def transcribe(self, samples: object) -> str:
            raise SpeechEngineError("deaf today")

    async with demo_agent(engines) as address:
        result = await place(address, (engines[0], Deaf()), tmp_path)
    assert result.conversation_ended_reason is EndReason.GOODBYE
    assert not (tmp_path / "transcript.jsonl").exists()
    assert "no transcript: deaf today" in (tmp_path / "logs.log").read_text(encoding="utf-8")


async def test_a_missing_call_report_costs_the_report_and_not_the_call(
    engines: Engines, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with demo_agent(engines) as address:
        unknown = AgentAddress(address.url, f"{address.call_report_url('')}not-{{call_sid}}")
        with caplog.at_level(logging.WARNING):
            result = await place(unknown, engines, tmp_path)
    assert result.completed
    assert not (tmp_path / "final_scenario_db.json").exists()
    assert "gave no call report" in caplog.text
