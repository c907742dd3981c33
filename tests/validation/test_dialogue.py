"""What was said in a call without a script, from events and transcripts of every kind."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from orchestrator_assets.validation.dialogue import read_dialogue, spoken_turns, utterances_in


def event(kind: str, at_ms: int = 0, **data: Any) -> dict[str, Any]:
    return {"timestamp": 1_772_403_724_000 + at_ms, "type": kind, "data": data}


STARTED = event("connection_state", state="session_started")


def write(directory: Path, *events: dict[str, Any], transcript: list[Any] | None = None) -> Path:
    files = {"user_simulator_events.jsonl": list(events)}
    if transcript is not None:
        files["transcript.jsonl"] = transcript
    for name, rows in files.items():
        (directory / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return directory


def test_only_the_callers_turns_are_numbered_and_times_count_from_the_start() -> None:
    said = utterances_in(
        [
            STARTED,
            event("assistant_speech", 1_000, text="Hello?"),
            event("user_speech", 2_500, text="Hi."),
            event("user_speech", 4_000, text="It's me."),
        ]
    )
    assert [(each.turn, each.text, each.at_seconds) for each in said] == [
        (None, "Hello?", 1.0),
        (0, "Hi.", 2.5),
        (1, "It's me.", 4.0),
    ]


def test_directions_to_the_voice_are_not_said_and_a_turn_of_nothing_else_is_none() -> None:
    said = utterances_in(
        [
            event("user_speech", text="[laughs]"),
            event("user_speech", text="[slow] K seven.\n [pause] Two."),
        ]
    )
    assert [(each.turn, each.text) for each in said] == [(0, "K seven. Two.")]


def test_a_correction_changes_the_callers_last_turn_and_no_other() -> None:
    corrected = event("user_speech_correction", original="I want", corrected="I")
    of_the_agent = event("assistant_speech", text="Yes?")
    said = utterances_in([event("user_speech", text="I want"), of_the_agent, corrected])
    assert [each.text for each in said] == ["I", "Yes?"]
    earlier = [event("user_speech", text="I want"), event("user_speech", text="More"), corrected]
    assert [each.text for each in utterances_in(earlier)] == ["I want", "More"]


def test_odd_events_are_passed_over() -> None:
    odd: list[dict[str, Any]] = [
        {"type": "user_speech"},
        {"type": "user_speech", "data": {"text": 5}},
        {"event_type": 1},
    ]
    assert utterances_in(odd) == []


def test_turns_know_when_they_were_spoken_or_that_nobody_does() -> None:
    said = utterances_in(
        [
            event("user_speech", text="One.", start_seconds=1, end_seconds=2.5),
            event("user_speech", text="Two.", start_seconds=3, end_seconds=2),
            event("user_speech", text="Three."),
        ]
    )
    first, second, third = spoken_turns(said)
    assert (first.start_seconds, first.end_seconds) == (1.0, 2.5)
    assert math.isnan(second.start_seconds)
    assert math.isnan(third.end_seconds)


def test_where_the_events_lack_a_side_the_transcript_has_both(tmp_path: Path) -> None:
    transcript = [
        {"timestamp": "1772403725000", "type": "assistant", "content": "Hello?"},
        {"timestamp": "1772403727000", "type": "user", "content": "Hi."},
    ]
    write(tmp_path, STARTED, event("user_speech", text="Hi there."), transcript=transcript)
    said = read_dialogue(tmp_path)
    assert [(each.turn, each.text, each.at_seconds) for each in said] == [
        (None, "Hello?", 1.0),
        (0, "Hi.", 3.0),
    ]


def test_what_the_caller_meant_is_worth_more_than_what_was_understood_of_it(tmp_path: Path) -> None:
    events = [STARTED, event("assistant_speech", text="Yes?"), event("user_speech", text="K7TQ2.")]
    transcript = [
        {"timestamp": "1772403725000", "type": "assistant", "content": "Yes?"},
        {"timestamp": "1772403727000", "type": "user", "content": "Cake, you too."},
    ]
    write(tmp_path, *events, transcript=transcript)
    assert [each.text for each in read_dialogue(tmp_path)] == ["Yes?", "K7TQ2."]


def test_without_a_transcript_one_side_is_what_there_is(tmp_path: Path) -> None:
    write(tmp_path, STARTED, event("user_speech", text="Hello?"))
    assert [each.text for each in read_dialogue(tmp_path)] == ["Hello?"]
