"""The demo agent as its callers hear it."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path

import httpx
import pytest
import soundfile
from placed_calls import SHORT_SCRIPT, Engines, demo_agent, place, read_lines
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from orchestrator_assets.call.call_report import read_call_report
from orchestrator_assets.demo.clinic import FAREWELL, GREETING
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.tool_call_validity import ToolCallValidity
from orchestrator_assets.records import Record, Task

BOOKING = "My booking code is 55329."


def reply_times(directory: Path) -> list[float]:
    """Seconds from the end of each caller turn to the agent's next words."""
    rows = read_lines(directory / "transcript.jsonl")
    return [
        after["start_seconds"] - before["end_seconds"]
        for before, after in itertools.pairwise(rows)
        if (before["role"], after["role"]) == ("user", "assistant")
    ]


async def test_the_time_it_thinks_is_the_time_it_takes_longer(
    engines: Engines, tmp_path: Path
) -> None:
    async with demo_agent(engines) as address:
        for think_ms in ("0", "1000"):
            parameters = {"think_ms": think_ms}
            await place(address, engines, tmp_path / think_ms, agent_parameters=parameters)
    times = {name: reply_times(tmp_path / name) for name in ("0", "1000")}
    assert len(times["0"]) == len(times["1000"]) == 2
    for quick, slow in zip(times["0"], times["1000"], strict=True):
        assert slow - quick == pytest.approx(1.0, abs=0.04)


async def test_it_stops_talking_when_the_caller_barges_in(engines: Engines, tmp_path: Path) -> None:
    script = [{"say": SHORT_SCRIPT[0], "barge_in_after_seconds": 0.8}, SHORT_SCRIPT[1]]
    async with demo_agent(engines) as address:
        await place(address, engines, tmp_path, turns=script)
    first, caller, *_ = read_lines(tmp_path / "transcript.jsonl")
    assert (first["role"], caller["role"]) == ("assistant", "user")
    assert first["interrupted"]
    assert caller["start_seconds"] < first["end_seconds"] < caller["start_seconds"] + 0.3
    samples, rate = soundfile.read(tmp_path / "audio_assistant.wav", dtype="int16")
    silence = samples[round((caller["start_seconds"] + 0.3) * rate) :][: rate // 2]
    assert not silence.any()


async def test_it_reports_its_words_its_tools_and_what_they_answered(
    engines: Engines, tmp_path: Path
) -> None:
    turns = [SHORT_SCRIPT[0], BOOKING, SHORT_SCRIPT[1]]
    async with demo_agent(engines) as address:
        await place(address, engines, tmp_path, turns=turns)
    report = read_call_report(tmp_path)
    assert report is not None
    assert report.agent_texts == [
        GREETING,
        "Certainly. What is your booking code?",
        "Your appointment is on Wednesday at ten thirty. Is there anything else?",
        FAREWELL,
    ]
    assert report.tool_calls is not None
    (call,) = report.tool_calls
    assert call.arguments() == {"code": "55329"}
    assert call.result()["appointment"]["patient"] == "Julia Brandt"
    assert report.tools is not None
    assert [tool.name for tool in report.tools] == [
        "look_up_appointment",
        "cancel_appointment",
        "move_appointment",
    ]
    assert report.instructions
    score = ToolCallValidity().compute(Conversation(Task(Record(id="ä/1")), tmp_path))
    assert score.score == 1.0


async def test_what_it_had_no_time_to_say_is_not_among_its_words(
    engines: Engines, tmp_path: Path
) -> None:
    async with demo_agent(engines) as address:
        await place(address, engines, tmp_path, turns=SHORT_SCRIPT, limit=2.0)
    report = read_call_report(tmp_path)
    assert report is not None
    assert report.agent_texts == [GREETING]


async def test_an_agent_that_never_stops_talking_has_done_its_task_before(
    engines: Engines, tmp_path: Path
) -> None:
    script = ["Please cancel my appointment.", BOOKING, "Yes, please.", "Goodbye."]
    parameters = {"fault": "never_stops_talking"}
    async with demo_agent(engines) as address:
        result = await place(
            address, engines, tmp_path, turns=script, limit=40, agent_parameters=parameters
        )
    assert result.conversation_ended_reason == "time_limit_exceeded"
    state = json.loads((tmp_path / "final_scenario_db.json").read_text(encoding="utf-8"))
    assert state["appointments"]["55329"]["status"] == "cancelled"


async def test_calls_have_states_of_their_own(engines: Engines, tmp_path: Path) -> None:
    cancel = ["Please cancel my appointment.", BOOKING, "Yes, please.", "Goodbye."]
    async with demo_agent(engines) as address:
        await asyncio.gather(
            place(address, engines, tmp_path / "cancel", turns=cancel),
            place(address, engines, tmp_path / "ask"),
        )
    states = {
        name: json.loads((tmp_path / name / "final_scenario_db.json").read_text(encoding="utf-8"))
        for name in ("cancel", "ask")
    }
    assert states["cancel"]["appointments"]["55329"]["status"] == "cancelled"
    assert states["ask"]["appointments"]["55329"]["status"] == "booked"


async def test_a_call_it_does_not_know_has_no_report(engines: Engines) -> None:
    async with demo_agent(engines) as address, httpx.AsyncClient(trust_env=False) as client:
        response = await client.get(address.call_report_url("CA-unknown") or "")
    assert response.status_code == 404


async def test_a_fault_it_does_not_know_ends_the_call(engines: Engines) -> None:
    start = {"callSid": "CA1", "streamSid": "MZ1", "customParameters": {"fault": "sings"}}
    async with demo_agent(engines) as address, connect(address.url) as connection:
        await connection.send(json.dumps({"event": "start", "start": start}))
        with pytest.raises(ConnectionClosedError):
            await asyncio.wait_for(connection.recv(), 5)
