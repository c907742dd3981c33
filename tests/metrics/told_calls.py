"""Conversations on disk as a call leaves them, told row by row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.call_report import CallReport, write_call_report
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    RESULT_FILE,
    TRANSCRIPT_FILE,
    ConversationResult,
    TranscriptRow,
)
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.atomic import write_json, write_text

STARTED_AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_ROLES = {"agent": "assistant", "caller": "user"}

Told = tuple[str, str, float, float]
"""Who, what, from and to which second."""


def told_call(
    directory: Path,
    rows: Sequence[Told] = (),
    *,
    report: dict[str, Any] | None = None,
    record: dict[str, Any] | None = None,
) -> Conversation:
    """Write transcript and report of a call, and return the conversation."""
    caller = [start for who, _, start, _ in rows if who == "caller"]
    lines = [
        TranscriptRow(
            timestamp=STARTED_AT + timedelta(seconds=start),
            role=_ROLES[who],  # type: ignore[arg-type]
            content=said,
            start_seconds=start,
            end_seconds=end,
            interrupted=who == "agent" and any(start < other < end for other in caller),
        ).model_dump_json()
        for who, said, start, end in rows
    ]
    write_text(directory / TRANSCRIPT_FILE, "".join(f"{line}\n" for line in lines))
    if report is not None:
        write_call_report(directory, CallReport.model_validate(report))
    return Conversation(Task(Record.model_validate({"id": "talk", **(record or {})})), directory)


def write_tracks(directory: Path, caller: Samples, agent: Samples, rate: int = 8_000) -> None:
    for name, track in ((CALLER_AUDIO_FILE, caller), (AGENT_AUDIO_FILE, agent)):
        with WavWriter(directory / name, rate) as file:
            file.append(track)


def write_result(directory: Path, ended_reason: str, **fields: Any) -> None:
    """Write the result of a call that took 30 seconds, unless told otherwise."""
    seconds = fields.get("duration_seconds", 30.0)
    result = ConversationResult.model_validate(
        {
            "record_id": "talk",
            "task_id": "talk",
            "attempt": 1,
            "completed": True,
            "started_at": STARTED_AT,
            "ended_at": STARTED_AT + timedelta(seconds=seconds),
            "duration_seconds": seconds,
            "conversation_ended_reason": ended_reason,
            "fingerprint": "f",
            "clock": "media",
            **fields,
        }
    )
    write_json(directory / RESULT_FILE, json.loads(result.model_dump_json()))


def eva_call(eva_data: Path) -> Conversation:
    """The one call of the real run of EVA's."""
    return Conversation(Task(Record(id="1.1.2")), eva_data / "run" / "records" / "1.1.2")
