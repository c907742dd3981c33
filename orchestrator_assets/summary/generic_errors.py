"""Conversations in which the agent apologised for an error of its language model (EVA's check)."""

from __future__ import annotations

import json
from pathlib import Path

from orchestrator_assets.call.conversation import TRANSCRIPT_FILE

GENERIC_ERROR = "I'm sorry, I encountered an error processing your request."


def has_generic_error(directory: Path | None) -> bool:
    """Tell whether the agent said the generic error sentence in the directory's conversation."""
    if directory is None:
        return False
    try:
        content = (directory / TRANSCRIPT_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return any(_agent_said_it(line) for line in content.split("\n") if GENERIC_ERROR in line)


def _agent_said_it(line: str) -> bool:
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and row.get("role") == "assistant"
