"""The transcript of a conversation, as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator_assets.call.conversation import TRANSCRIPT_FILE, TranscriptRow
from orchestrator_assets.dagster_assets.markdown import markdown_table

# Beyond this a transcript is a file to open, not something to look at in the event log.
_SHOWN_ROWS = 200


def read_transcript(directory: Path) -> list[TranscriptRow]:
    """Return the rows of a task's transcript. Raises OSError or ValueError if it can't be read."""
    lines = (directory / TRANSCRIPT_FILE).read_text(encoding="utf-8").split("\n")
    return [TranscriptRow.model_validate_json(line) for line in lines if line.strip()]


def transcript_table(rows: Sequence[TranscriptRow]) -> str:
    """Return a transcript as a Markdown table along the time of the call."""
    table = markdown_table(
        ("time", "who", "text"),
        [
            (
                clock_time(row.start_seconds),
                "caller" if row.role == "user" else "agent",
                f"{row.content} (interrupted)" if row.interrupted else row.content,
            )
            for row in rows[:_SHOWN_ROWS]
        ],
    )
    left_out = len(rows) - _SHOWN_ROWS
    return f"{table}\n\n{left_out} more rows in {TRANSCRIPT_FILE}." if left_out > 0 else table


def clock_time(seconds: float) -> str:
    """Return a time of the call as `m:ss.s`."""
    tenths = round(seconds * 10)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"
