"""Reads what a call left in its directory, EVA's older names included.

Every reader raises ConversationFileError, which names the file and the line, for what is missing
or damaged.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from orchestrator_assets.audio.wav import read_wav
from orchestrator_assets.call.conversation import (
    EVENTS_FILE,
    FINAL_STATE_FILE,
    INITIAL_STATE_FILE,
    RESULT_FILE,
    TRANSCRIPT_FILE,
    ConversationResult,
    Event,
    TranscriptRow,
)
from orchestrator_assets.call.eva_reading import (
    call_started_at,
    eva_time,
    is_eva_result,
    is_eva_transcript_row,
    result_from_eva,
    transcript_row_from_eva,
)
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.errors import ConversationFileError

LEGACY_EVENTS_FILE = "elevenlabs_events.jsonl"

_Model = TypeVar("_Model", bound=BaseModel)


def read_result(
    directory: Path, *, task_id: str | None = None, attempt: int = 1
) -> ConversationResult:
    """Return how the call went. EVA's results don't say of which task and attempt they are."""
    path = directory / RESULT_FILE
    content = _parsed(path, _text(path))
    if is_eva_result(content):
        events = _events_if_any(directory)
        content = result_from_eva(content, directory, events, task_id=task_id, attempt=attempt)
    return _validated(ConversationResult, content, path)


def read_transcript(directory: Path) -> list[TranscriptRow]:
    """Return the rows of the transcript, in their order."""
    path = directory / TRANSCRIPT_FILE
    rows = _json_lines(path)
    if any(is_eva_transcript_row(row) for _, row in rows):
        rows = _rows_from_eva(rows, call_started_at(_events_if_any(directory)))
    return [_validated(TranscriptRow, row, path, line) for line, row in rows]


def _rows_from_eva(
    rows: list[tuple[int, Any]], started_at: datetime | None
) -> list[tuple[int, Any]]:
    first = rows[0][1]
    began = started_at or (eva_time(first.get("timestamp")) if isinstance(first, dict) else None)
    return [
        (line, transcript_row_from_eva(row, began) if is_eva_transcript_row(row) else row)
        for line, row in rows
    ]


def read_events(directory: Path) -> list[Event]:
    """Return the caller's events, in their order; each is a JSON object."""
    path = directory / EVENTS_FILE
    legacy = directory / LEGACY_EVENTS_FILE
    if not path.exists() and legacy.exists():
        path = legacy
    return [_object(path, row, line) for line, row in _json_lines(path)]


def _events_if_any(directory: Path) -> list[Event]:
    try:
        return read_events(directory)
    except ConversationFileError:
        return []


def read_initial_state(directory: Path) -> dict[str, Any] | None:
    """Return the state of the agent's world before the call, or None where none was given."""
    return _state(directory / INITIAL_STATE_FILE)


def read_final_state(directory: Path) -> dict[str, Any] | None:
    """Return the state of the agent's world after the call, or None where none was given."""
    return _state(directory / FINAL_STATE_FILE)


def read_track(directory: Path, name: str) -> tuple[Samples, int]:
    """Return the samples of the WAV file `name` and their rate in Hz."""
    path = directory / name
    if not path.is_file():
        raise ConversationFileError(path, "is missing")
    try:
        return read_wav(path)
    except (OSError, ValueError) as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise ConversationFileError(path, f"can't be read as audio: {reason}") from error


def read_json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object that a file holds."""
    return _object(path, _parsed(path, _text(path)))


def _state(path: Path) -> dict[str, Any] | None:
    return read_json_object(path) if path.exists() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConversationFileError(path, "is missing") from error
    except OSError as error:
        raise ConversationFileError(path, f"can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConversationFileError(path, f"is not UTF-8: {error.reason}") from error


def _json_lines(path: Path) -> list[tuple[int, Any]]:
    # Not splitlines(): U+2028 and its like may stand unescaped inside a JSON string.
    lines = enumerate(_text(path).split("\n"), start=1)
    return [(number, _parsed(path, line, number)) for number, line in lines if line.strip()]


def _parsed(path: Path, text: str, line: int | None = None) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConversationFileError(path, f"is not JSON: {error}", line) from error


def _object(path: Path, value: Any, line: int | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConversationFileError(
            path, f"must be a JSON object, but is a {type(value).__name__}", line
        )
    return value


def _validated(model: type[_Model], value: Any, path: Path, line: int | None = None) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, detail['loc'])) or 'the whole'}: {detail['msg']}"
            for detail in error.errors()
        )
        raise ConversationFileError(path, faults, line) from error
