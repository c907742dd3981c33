from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator_assets.call.conversation import EVENTS_FILE
from orchestrator_assets.call.conversation_files import LEGACY_EVENTS_FILE
from orchestrator_assets.validation.gate import score_valid_end


def test_a_goodbye_passes(call: Any) -> None:
    score = score_valid_end(call.caller_says(0, "Bye.", at=1).ends("goodbye"))
    assert score.score == 1.0
    assert score.details["ended_properly"] is True
    assert score.details["ended_reason"] == "goodbye"


def test_an_agent_that_stays_silent_after_the_caller_passes(call: Any) -> None:
    call.agent_says(at=1).caller_says(0, "Hello?", at=3)
    assert score_valid_end(call.ends("inactivity_timeout")).score == 1.0


def test_a_caller_that_stays_silent_after_the_agent_does_not_pass(call: Any) -> None:
    call.caller_says(0, "Hello?", at=1).agent_says(at=3)
    score = score_valid_end(call.ends("inactivity_timeout"))
    assert score.score == 0.0
    assert "the caller fell silent" in score.details["reason"]


def test_the_time_of_the_audio_decides_who_spoke_last_not_the_order_of_the_lines(call: Any) -> None:
    call.agent_says(at=5, seconds=3).caller_says(0, "Wait!", at=6)
    assert score_valid_end(call.ends("inactivity_timeout")).score == 0.0


def test_silence_on_both_sides_does_not_pass(call: Any) -> None:
    assert score_valid_end(call.ends("inactivity_timeout")).score == 0.0


@pytest.mark.parametrize(
    "reason", ["agent_hangup", "time_limit_exceeded", "transport_error", "cancelled", "error", ""]
)
def test_every_other_end_does_not_pass(call: Any, reason: str) -> None:
    score = score_valid_end(call.caller_says(0, "Hello?", at=1).ends(reason))
    assert score.score == 0.0
    assert score.error is None


def test_an_event_after_the_goodbye_does_not_pass(call: Any) -> None:
    call.ends("goodbye")
    call.agent_says(at=3)
    assert score_valid_end(call.write_events()).score == 0.0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "is missing"),
        ("", "does not end the call"),
        ('{"type": "connection_st', "line 1: is not JSON"),
        ('{"type": "error"}\n[1]\n', "line 2: must be a JSON object"),
        ('{"type": "connection_state", "data": null}\n', "does not end the call"),
        ('{"type": "connection_state", "data": {"details": "goodbye"}}\n', "does not end the call"),
    ],
)
def test_missing_and_damaged_events_do_not_pass_and_say_why(
    tmp_path: Path, content: str | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / EVENTS_FILE).write_text(content, encoding="utf-8")
    score = score_valid_end(tmp_path)
    assert score.score == 0.0
    assert reason in score.details["reason"]
    json.dumps(score.model_dump(mode="json"), allow_nan=False)


def test_line_separators_inside_a_text_are_not_the_end_of_a_line(call: Any) -> None:
    call.caller_says(0, "One\u2028two\x85three", at=1)
    assert score_valid_end(call.ends("goodbye")).score == 1.0


def test_evas_older_names_of_file_and_sides_are_understood(call: Any) -> None:
    call.agent_says(at=1).caller_says(0, "Hello?", at=3).ends("inactivity_timeout")
    older = {"simulated_user": "elevenlabs_user", "assistant": "framework_agent"}
    for event in call.events:
        if "user" in event:
            event["user"] = older[event["user"]]
    (call.directory / EVENTS_FILE).unlink()
    score = score_valid_end(call.write_events(LEGACY_EVENTS_FILE))
    assert score.score == 1.0
    assert score.details["last_audio_from"] == "simulated_user"


def test_a_real_eva_conversation_passes(eva_data: Path) -> None:
    score = score_valid_end(eva_data / "run/records/1.1.2")
    assert score.score == 1.0
    assert score.details["last_audio_from"] == "simulated_user"
