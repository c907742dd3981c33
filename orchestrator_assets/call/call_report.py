"""Fetches what an agent reports on a finished call: its state before and after, its tool calls."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator_assets.call.conversation import FINAL_STATE_FILE, INITIAL_STATE_FILE
from orchestrator_assets.call.tool_calls import Tool, ToolCall
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.redaction import redacted_url
from orchestrator_assets.store.atomic import write_json

CALL_REPORT_FILE = "agent_call_report.json"
_TRIES = 3
_PAUSE_SECONDS = 0.2
_TIMEOUT_SECONDS = 10.0

logger = logging.getLogger(__name__)


class CallReport(BaseModel):
    """What `agent.call_report_url` answers. Unknown fields are kept."""

    model_config = ConfigDict(extra="allow")

    initial_state: dict[str, Any] | None = None
    final_state: dict[str, Any] | None = None
    tool_calls: list[ToolCall] | None = None
    tools: list[Tool] | None = None
    agent_texts: list[str] | None = None
    """What the agent sent to be said, in order; an utterance is what it says in one go."""
    instructions: str | None = None
    """What the agent was told to do, policies included."""


async def fetch_call_report(url: str) -> CallReport | None:
    """Ask the agent for its report; None, with a warning logged, where it gives none.

    A missing report costs the metrics that need it, never the call.
    """
    error: Exception | None = None
    async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS, trust_env=False) as client:
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(_PAUSE_SECONDS)
            try:
                response = await client.get(url)
                response.raise_for_status()
                return CallReport.model_validate_json(response.content)
            except (httpx.HTTPError, ValidationError) as failure:
                error = failure
    logger.warning("the agent gave no call report at %s: %s", redacted_url(url), error)
    return None


def write_call_report(directory: Path, report: CallReport) -> None:
    """Keep the report as it came, and its states under EVA's file names."""
    write_json(directory / CALL_REPORT_FILE, report.model_dump(mode="json"))
    if report.initial_state is not None:
        write_json(directory / INITIAL_STATE_FILE, report.initial_state)
    if report.final_state is not None:
        write_json(directory / FINAL_STATE_FILE, report.final_state)


def read_call_report(directory: Path) -> CallReport | None:
    """Return the report that was kept, or None where there was none.

    Raises ConversationFileError for a damaged file.
    """
    path = directory / CALL_REPORT_FILE
    try:
        return CallReport.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise ConversationFileError(path, f"can't be used as a call report: {error}") from error
