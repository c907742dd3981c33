from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator_assets.call.conversation_files import (
    read_events,
    read_final_state,
    read_result,
    read_track,
    read_transcript,
)
from orchestrator_assets.errors import ConversationFileError

ROW = {
    "timestamp": "2026-03-01T22:22:05+00:00",
    "role": "user",
    "content": "Hi.",
    "start_seconds": 1.0,
    "end_seconds": 2.0,
}


def write(directory: Path, name: str, *values: object) -> None:
    lines = [json.dumps(value) + "\n" for value in values]
    (directory / name).write_text("".join(lines), encoding="utf-8")


def test_a_transcript_is_read_row_by_row(tmp_path: Path) -> None:
    write(tmp_path, "transcript.jsonl", ROW, {**ROW, "role": "assistant", "turn": None})
    assert [row.role for row in read_transcript(tmp_path)] == ["user", "assistant"]


def test_a_faulty_row_is_named_by_file_line_and_field(tmp_path: Path) -> None:
    write(tmp_path, "transcript.jsonl", ROW, {**ROW, "role": "nobody"})
    with pytest.raises(ConversationFileError, match=r"transcript\.jsonl, line 2: role: ") as caught:
        read_transcript(tmp_path)
    assert caught.value.line == 2


def test_events_are_preferred_under_their_own_name(tmp_path: Path) -> None:
    write(tmp_path, "elevenlabs_events.jsonl", {"sequence": 1})
    assert read_events(tmp_path) == [{"sequence": 1}]
    write(tmp_path, "user_simulator_events.jsonl", {"sequence": 2})
    assert read_events(tmp_path) == [{"sequence": 2}]


def test_a_missing_result_and_a_result_without_its_fields_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConversationFileError, match=r"result\.json: is missing"):
        read_result(tmp_path)
    write(tmp_path, "result.json", {"record_id": "a"})
    with pytest.raises(ConversationFileError, match="completed: Field required"):
        read_result(tmp_path)


def test_a_state_is_an_object_or_absent(tmp_path: Path) -> None:
    assert read_final_state(tmp_path) is None
    write(tmp_path, "final_scenario_db.json", [1])
    with pytest.raises(ConversationFileError, match="must be a JSON object, but is a list"):
        read_final_state(tmp_path)


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "user_simulator_events.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(ConversationFileError, match="is not UTF-8"):
        read_events(tmp_path)


def test_a_track_that_is_no_audio_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "audio_user.wav").write_bytes(b"no audio")
    with pytest.raises(ConversationFileError) as caught:
        read_track(tmp_path, "audio_user.wav")
    assert str(caught.value).count("audio_user.wav") == 1
