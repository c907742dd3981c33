from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from told_calls import STARTED_AT, Told, told_call

from orchestrator_assets.metrics.agent_transcript_wer import AgentTranscriptWer
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.heard_speech import Cut, HeardSpeech, heard_of_agent
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.atomic import json_text, write_json, write_text

BEGAN = STARTED_AT.timestamp()


def eva_call_of(directory: Path, events: list[dict[str, Any]]) -> Conversation:
    """A call of EVA's whose transcript holds other words than its caller understood."""
    write_json(
        directory / "result.json",
        {
            "record_id": "1",
            "completed": True,
            "started_at": STARTED_AT.isoformat(),
            "ended_at": STARTED_AT.isoformat(),
            "duration_seconds": 60.0,
            "conversation_ended_reason": "goodbye",
        },
    )
    row = {"timestamp": STARTED_AT.isoformat(), "role": "assistant", "content": "As it was sent."}
    write_text(directory / "transcript.jsonl", json_text(row) + "\n")
    lines = [json_text(event) + "\n" for event in events]
    write_text(directory / "user_simulator_events.jsonl", "".join(lines))
    return Conversation(Task(Record(id="1")), directory)


def state(at: float, name: str) -> dict[str, Any]:
    return {**typed(at, "connection_state"), "data": {"state": name, "details": {}}}


def typed(at: float, kind: str) -> dict[str, Any]:
    return {"timestamp": round((BEGAN + at) * 1000), "type": kind}


def audio(side: str, start: float, end: float) -> list[dict[str, Any]]:
    return [
        {
            "timestamp": round((BEGAN + at) * 1000),
            "event_type": edge,
            "user": side,
            "audio_timestamp": BEGAN + at,
        }
        for edge, at in (("audio_start", start), ("audio_end", end))
    ]


def understood(at: float, text: str) -> dict[str, Any]:
    return {**typed(at, "assistant_speech"), "data": {"text": text}}


@pytest.mark.parametrize(
    ("agent", "caller"), [("assistant", "simulated_user"), ("framework_agent", "elevenlabs_user")]
)
def test_of_evas_calls_it_is_what_the_caller_understood(
    tmp_path: Path, agent: str, caller: str
) -> None:
    events = [
        state(0.0, "session_started"),
        *audio(agent, 1.0, 2.0),
        understood(2.5, "Hello there."),
        *audio(caller, 3.0, 4.0),
        *audio(agent, 5.0, 6.0),
        *audio(agent, 6.5, 8.0),
        *audio(caller, 7.5, 9.0),
        understood(9.5, "Your booking is"),
        *audio(agent, 10.0, 11.0),
        understood(11.5, "Yes?"),
        state(30.0, "session_ended"),
    ]
    assert heard_of_agent(eva_call_of(tmp_path, events)) == [
        HeardSpeech("Hello there.", 1.0, 2.0, Cut.NONE),
        HeardSpeech("Your booking is", 5.0, 8.0, Cut.QUEUE),
        HeardSpeech("Yes?", 10.0, 11.0, Cut.NONE),
    ]


def test_evas_agent_that_speaks_to_the_end_of_the_call_is_cut_off(tmp_path: Path) -> None:
    events = [
        state(0.0, "session_started"),
        *audio("assistant", 1.0, 2.9),
        understood(2.95, "Hello"),
        state(3.0, "session_ended"),
    ]
    (heard,) = heard_of_agent(eva_call_of(tmp_path, events))
    assert heard.cut is Cut.QUEUE


def test_speech_without_an_audio_event_is_heard_when_it_is_noted(tmp_path: Path) -> None:
    events = [state(0.0, "session_started"), understood(2.5, "Hello."), state(9.0, "connected")]
    assert heard_of_agent(eva_call_of(tmp_path, events)) == [HeardSpeech("Hello.", 2.5, 2.5)]


def test_of_our_own_calls_it_is_the_agents_side_of_the_transcript(tmp_path: Path) -> None:
    rows: list[Told] = [
        ("agent", "Hello.", 0.5, 1.0),
        ("caller", "Hi.", 1.5, 2.0),
        ("agent", "How may I", 2.5, 3.5),
        ("caller", "Wait.", 3.3, 3.8),
    ]
    assert heard_of_agent(told_call(tmp_path, rows)) == [
        HeardSpeech("Hello.", 0.5, 1.0, Cut.NONE),
        HeardSpeech("How may I", 2.5, 3.5, Cut.QUEUE),
    ]


def test_of_a_call_in_which_the_agent_said_nothing_there_is_nothing(tmp_path: Path) -> None:
    assert heard_of_agent(told_call(tmp_path)) == []


def test_a_call_of_evas_that_does_not_tell_what_was_heard_has_no_error_rate(tmp_path: Path) -> None:
    events = [state(0.0, "session_started"), state(9.0, "session_ended")]
    score = AgentTranscriptWer().compute(eva_call_of(tmp_path, events))
    assert score.skipped
    assert score.score is None
    assert "do not tell what its caller understood" in score.details["reason"]
