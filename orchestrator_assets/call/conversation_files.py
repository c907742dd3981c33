"""Reads what a call left in its directory, EVA's older names included.

Every reader raises ConversationFileError, which names the file and the line, for what is missing
or damaged.
"""

from __future__ import annotations

import json
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
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.errors import ConversationFileError

LEGACY_EVENTS_FILE = "elevenlabs_events.jsonl"

_Model = TypeVar("_Model", bound=BaseModel)


def read_result(directory: Path) -> ConversationResult:
    """Return how the call went."""
    path = directory / RESULT_FILE
    return _validated(ConversationResult, _parsed(path, _text(path)), path)


def read_transcript(directory: Path) -> list[TranscriptRow]:
    """Return the rows of the transcript, in their order."""
    path = directory / TRANSCRIPT_FILE
    return [_validated(TranscriptRow, row, path, line) for line, row in _json_lines(path)]


def read_events(directory: Path) -> list[Event]:
    """Return the caller's events, in their order; each is a JSON object."""
    path = directory / EVENTS_FILE
    legacy = directory / LEGACY_EVENTS_FILE
    if not path.exists() and legacy.exists():
        path = legacy
    return [_object(path, row, line) for line, row in _json_lines(path)]


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


def _state(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    return _object(path, _parsed(path, _text(path)))


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
