"""What EVA's files of a call tell of the agent, as the report our own agents give.

EVA logs the agent's tool calls in `audit_log.json`, its instructions in the prompts there, and what
it sent to be said in `transcript.jsonl`: in EVA that is the text given to the voice (or a speech
model's own transcript), cut where the caller interrupted it, not what somebody heard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator_assets.call.call_report import CallReport
from orchestrator_assets.call.conversation import (
    ADOPTED_FINGERPRINT,
    AUDIT_LOG_FILE,
    RESULT_FILE,
    TRANSCRIPT_FILE,
)
from orchestrator_assets.call.conversation_files import (
    read_final_state,
    read_initial_state,
    read_json_object,
    read_result,
    read_transcript,
)
from orchestrator_assets.call.tool_calls import ToolCall
from orchestrator_assets.errors import ConversationFileError


def is_evas(directory: Path) -> bool:
    """Tell whether the call in `directory` is one of EVA's own, and not one of ours.

    Ours have files of EVA's names too, made for its tools. A call without a result is nobody's.
    Raises ConversationFileError for a damaged result.
    """
    if not (directory / RESULT_FILE).is_file():
        return False
    return read_result(directory).fingerprint == ADOPTED_FINGERPRINT


def read_eva_call_report(directory: Path) -> CallReport | None:
    """Return what the files of a call of EVA's tell of its agent; None for any other call.

    Raises ConversationFileError for a damaged file.
    """
    if not is_evas(directory):
        return None
    log = _audit_log(directory)
    texts = None
    if (directory / TRANSCRIPT_FILE).is_file():
        rows = read_transcript(directory)
        texts = [row.content for row in rows if row.role == "assistant"]
    return CallReport(
        initial_state=read_initial_state(directory),
        final_state=read_final_state(directory),
        tool_calls=None if log is None else _tool_calls(log, directory / AUDIT_LOG_FILE),
        agent_texts=texts,
        instructions=None if log is None else _instructions(log),
    )


def _audit_log(directory: Path) -> dict[str, Any] | None:
    path = directory / AUDIT_LOG_FILE
    return read_json_object(path) if path.is_file() else None


def _tool_calls(log: Mapping[str, Any], path: Path) -> list[ToolCall]:
    """Return the calls in their order, each with the first answer of its tool that follows it."""
    calls: list[dict[str, Any]] = []
    for number, entry in enumerate(_objects(log.get("transcript"))):
        kind, value = entry.get("message_type"), entry.get("value")
        if kind not in ("tool_call", "tool_response"):
            continue
        if not isinstance(value, Mapping) or not isinstance(name := value.get("tool"), str):
            raise ConversationFileError(path, f"transcript.{number}.value names no `tool`")
        if kind == "tool_call":
            time = {"timestamp": entry["timestamp"]} if "timestamp" in entry else {}
            calls.append({"name": name, "parameters": value.get("parameters"), **time})
            continue
        waiting = (call for call in calls if call["name"] == name and "response" not in call)
        if (call := next(waiting, None)) is not None:
            call["response"] = value.get("response")
    return [ToolCall.model_validate(call) for call in calls]


def _instructions(log: Mapping[str, Any]) -> str | None:
    """Return the system message of the first prompt."""
    for prompt in _objects(log.get("llm_prompts")):
        for message in _objects(prompt.get("prompt")):
            if message.get("role") == "system" and isinstance(text := message.get("content"), str):
                return text
    return None


def _objects(value: Any) -> Sequence[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
