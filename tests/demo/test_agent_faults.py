"""The demo agent's planted faults, as its callers hear them, and what it reports of its timing."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from placed_calls import Engines, demo_agent, place, read_lines
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError

from orchestrator_assets.audio.mulaw import encode_mulaw
from orchestrator_assets.call.speech.base import Samples, Voice

SCRIPT = ["Hello, I would like to cancel my appointment.", "My booking code is 55329.", "Goodbye."]


def caller_turns(directory: Path) -> list[dict[str, float]]:
    events = read_lines(directory / "user_simulator_events.jsonl")
    return [event["data"] for event in events if event.get("type") == "user_speech"]


def sounding(path: Path, start_seconds: float, end_seconds: float) -> np.ndarray:
    """Return the moments of a recording that are not silent, in seconds, within a span."""
    samples, rate = soundfile.read(path, dtype="int16")
    loud = np.flatnonzero(np.abs(samples[round(start_seconds * rate) : round(end_seconds * rate)]))
    return start_seconds + loud / rate


@pytest.mark.parametrize("turn", [0, 1])
async def test_it_talks_over_the_caller_in_the_turn_it_is_told_to_and_in_no_other(
    engines: Engines, tmp_path: Path, turn: int
) -> None:
    parameters = {"fault": "talks_over", "fault_turn": str(turn)}
    async with demo_agent(engines) as address:
        result = await place(address, engines, tmp_path, turns=SCRIPT, agent_parameters=parameters)
    assert result.conversation_ended_reason == "goodbye"
    for said in caller_turns(tmp_path):
        start, end = said["start_seconds"], said["end_seconds"]
        over = sounding(tmp_path / "audio_assistant.wav", start, end)
        if said["turn"] == turn:
            assert start + 0.3 < over[0] < end - 0.5
            assert over[-1] - over[0] > 1.0
        else:
            assert over.size == 0


async def test_what_it_did_not_hear_out_it_answers_all_the_same(
    engines: Engines, tmp_path: Path
) -> None:
    async with demo_agent(engines) as address:
        await place(
            address, engines, tmp_path, turns=SCRIPT, agent_parameters={"fault": "talks_over"}
        )
    said = [row["content"] for row in read_lines(tmp_path / "transcript.jsonl")]
    assert any("cancel your appointment on Wednesday" in text for text in said)


async def test_a_dropped_socket_is_a_transport_error_in_the_turn_it_is_told_to(
    engines: Engines, tmp_path: Path
) -> None:
    parameters = {"fault": "drops_socket", "fault_turn": "1"}
    async with demo_agent(engines) as address:
        result = await place(address, engines, tmp_path, turns=SCRIPT, agent_parameters=parameters)
    assert result.conversation_ended_reason == "transport_error"
    assert [turn["turn"] for turn in caller_turns(tmp_path)] == [0, 1]
    assert result.duration_seconds > 5


async def speak_until_closed(connection: ClientConnection, sound: Samples) -> None:
    for chunk, frame in enumerate(sound.reshape(-1, 160), start=1):
        payload = base64.b64encode(encode_mulaw(frame)).decode("ascii")
        media = {"chunk": str(chunk), "payload": payload}
        await connection.send(json.dumps({"event": "media", "media": media}))
    async with asyncio.timeout(20):
        while True:
            await connection.recv()


async def test_a_socket_is_dropped_without_a_close_frame(engines: Engines) -> None:
    hello = engines[0].synthesize("Hello there.", Voice(), 8_000)
    sound = np.zeros(160 * 200, dtype=np.int16)
    sound[4_000 : 4_000 + hello.size] = hello
    parameters = {"fault": "drops_socket", "fault_turn": "0", "lockstep": "1"}
    start = {"callSid": "CA1", "streamSid": "MZ1", "customParameters": parameters}
    async with demo_agent(engines) as address, connect(address.url) as connection:
        await connection.send(json.dumps({"event": "start", "start": start}))
        with pytest.raises(ConnectionClosedError) as closed:
            await speak_until_closed(connection, sound)
    assert closed.value.rcvd is None


async def test_it_reports_when_it_took_a_turn_for_ended_and_when_it_answered(
    engines: Engines, tmp_path: Path
) -> None:
    parameters = {"think_ms": "600"}
    async with demo_agent(engines) as address:
        await place(address, engines, tmp_path, turns=SCRIPT, agent_parameters=parameters)
    report = json.loads((tmp_path / "agent_call_report.json").read_text(encoding="utf-8"))
    said = caller_turns(tmp_path)
    assert len(report["turns"]) == len(said) == 3
    for turn, reported in zip(said, report["turns"], strict=True):
        assert reported["ended_seconds"] - turn["end_seconds"] == pytest.approx(0.5, abs=0.021)
        assert reported["replied_seconds"] - reported["ended_seconds"] == pytest.approx(0.6)
        silence = sounding(
            tmp_path / "audio_assistant.wav", turn["end_seconds"], reported["replied_seconds"]
        )
        reply = sounding(
            tmp_path / "audio_assistant.wav",
            reported["replied_seconds"],
            reported["replied_seconds"] + 0.02,
        )
        assert silence.size == 0
        assert reply.size > 0


async def test_a_turn_it_never_answered_has_no_time_of_an_answer(
    engines: Engines, tmp_path: Path
) -> None:
    async with demo_agent(engines) as address:
        await place(
            address, engines, tmp_path, turns=SCRIPT, agent_parameters={"fault": "dead_air"}
        )
    report = json.loads((tmp_path / "agent_call_report.json").read_text(encoding="utf-8"))
    answered, unanswered = report["turns"]
    assert answered["replied_seconds"] is not None
    assert unanswered["replied_seconds"] is None


async def test_a_turn_that_is_no_number_ends_the_call(engines: Engines) -> None:
    parameters = {"fault": "talks_over", "fault_turn": "first"}
    start = {"callSid": "CA1", "streamSid": "MZ1", "customParameters": parameters}
    async with demo_agent(engines) as address, connect(address.url) as connection:
        await connection.send(json.dumps({"event": "start", "start": start}))
        with pytest.raises(ConnectionClosedError):
            await asyncio.wait_for(connection.recv(), 5)
