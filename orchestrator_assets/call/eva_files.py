"""Writes what only EVA's tools read: `audit_log.json` and `framework_logs.jsonl`.

EVA's agents log these themselves. Ours are black boxes, so both are made from the transcript, which
is what could be heard on the line, and from the tool calls the agent reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from orchestrator_assets.call.call_report import CallReport
from orchestrator_assets.call.conversation import (
    AUDIT_LOG_FILE,
    FRAMEWORK_LOG_FILE,
    TRANSCRIPT_FILE,
    TranscriptRow,
)
from orchestrator_assets.call.conversation_files import read_transcript
from orchestrator_assets.call.eva_reading import eva_time
from orchestrator_assets.call.tool_calls import ToolCall
from orchestrator_assets.store.atomic import json_text, write_json, write_text

_SOURCE = "orchestrator_assets"


def write_eva_files(directory: Path, report: CallReport | None) -> None:
    """Write both files beside the call's transcript; without one there is nothing to tell.

    Blocking. Raises OSError.
    """
    if not (directory / TRANSCRIPT_FILE).is_file():
        return
    rows = read_transcript(directory)
    tool_calls = (report and report.tool_calls) or []
    write_json(directory / AUDIT_LOG_FILE, _audit_log(rows, tool_calls))
    lines = [json_text(event) + "\n" for event in _framework_events(rows)]
    write_text(directory / FRAMEWORK_LOG_FILE, "".join(lines))


def _audit_log(rows: Sequence[TranscriptRow], tool_calls: Sequence[ToolCall]) -> dict[str, Any]:
    """Return the log in EVA's shape; EVA's entries of its agent's language model have no source.

    The agent knows what the caller said when the caller has ended, and its own words when it
    starts to speak. A tool call whose time the agent did not report stands at the end of the call.
    """
    entries = [_speech_entry(row) for row in rows]
    last = max((_ends_at(row) for row in rows), default=None)
    for tool_call in tool_calls:
        entries.extend(_tool_entries(tool_call, last))
    entries.sort(key=lambda entry: int(entry["timestamp"]))
    return {
        "transcript": entries,
        "llm_prompts": [],
        "conversation_messages": [{"role": row.role, "content": row.content} for row in rows],
    }


def _speech_entry(row: TranscriptRow) -> dict[str, Any]:
    by_agent = row.role == "assistant"
    return {
        "value": row.content,
        "displayName": "Bot" if by_agent else "User",
        "type": "text",
        "isBotMessage": by_agent,
        "timestamp": str(_epoch_ms(row.timestamp if by_agent else _ends_at(row))),
        "message_type": row.role,
    }


def _tool_entries(tool_call: ToolCall, default: datetime | None) -> Iterator[dict[str, Any]]:
    extra = tool_call.model_extra or {}
    time = eva_time(extra.get("timestamp")) or default
    shared = {"isBotMessage": True, "timestamp": str(0 if time is None else _epoch_ms(time))}
    yield {
        "value": {"tool": tool_call.name, "parameters": tool_call.arguments() or {}},
        "displayName": "Tool",
        "type": "tool_call",
        "message_type": "tool_call",
        **shared,
    }
    response = tool_call.result()
    if response is not None:
        yield {
            "value": {"tool": tool_call.name, "response": response},
            "displayName": "Tool Response",
            "type": "tool_response",
            "message_type": "tool_response",
            **shared,
        }


def _framework_events(rows: Sequence[TranscriptRow]) -> Iterator[dict[str, Any]]:
    """Yield the agent's turns; the ends of turns keep EVA from joining one's text to the next's."""
    for row in rows:
        if row.role == "assistant":
            yield _framework_event(row.timestamp, "turn_start", "")
            yield _framework_event(row.timestamp, "llm_response", row.content)
            yield _framework_event(_ends_at(row), "turn_end", "")


def _framework_event(time: datetime, kind: str, text: str) -> dict[str, Any]:
    return {"timestamp": _epoch_ms(time), "type": kind, "data": {"frame": text}, "source": _SOURCE}


def _ends_at(row: TranscriptRow) -> datetime:
    return row.timestamp + timedelta(seconds=row.end_seconds - row.start_seconds)


def _epoch_ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)
