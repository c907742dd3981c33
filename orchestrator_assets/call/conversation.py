"""What one call leaves behind: its file names, its result, its transcript rows.

File names and result fields are those of ServiceNow's EVA, so that its tools read our runs; fields
that are ours come last in each model.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

RESULT_FILE = "result.json"
TRANSCRIPT_FILE = "transcript.jsonl"
EVENTS_FILE = "user_simulator_events.jsonl"
METRICS_FILE = "metrics.json"
LOG_FILE = "logs.log"
CALLER_AUDIO_FILE = "audio_user.wav"
AGENT_AUDIO_FILE = "audio_assistant.wav"
MIXED_AUDIO_FILE = "audio_mixed.wav"
CLEAN_CALLER_AUDIO_FILE = "audio_user_clean.wav"
INITIAL_STATE_FILE = "initial_scenario_db.json"
FINAL_STATE_FILE = "final_scenario_db.json"
AUDIT_LOG_FILE = "audit_log.json"
FRAMEWORK_LOG_FILE = "framework_logs.jsonl"

ADOPTED_FINGERPRINT = "adopted"
"""Stands for the conditions of a call that was not ours but EVA's, and adopted."""


class EndReason(StrEnum):
    """Why a call ended."""

    GOODBYE = "goodbye"
    AGENT_HANGUP = "agent_hangup"
    INACTIVITY_TIMEOUT = "inactivity_timeout"
    TIME_LIMIT_EXCEEDED = "time_limit_exceeded"
    TRANSPORT_ERROR = "transport_error"
    CANCELLED = "cancelled"
    ERROR = "error"


class ErrorDetails(BaseModel):
    """The exception behind `ConversationResult.error`."""

    error_type: str
    error_source: str
    original_error: str
    is_retryable: bool = True
    stack_trace: str | None = None


class FrameLateness(BaseModel):
    """How late the caller's 20 ms frames left, in milliseconds after their scheduled time."""

    p50_ms: float
    p99_ms: float
    max_ms: float


class ConversationResult(BaseModel):
    """`result.json`: how a call went. Paths are relative to the task's directory."""

    model_config = ConfigDict(extra="allow")

    record_id: str
    completed: bool = Field(description="The call ended by goodbye, hang-up or inactivity.")
    error: str | None = None
    error_details: ErrorDetails | None = None
    started_at: datetime
    ended_at: datetime
    duration_seconds: float = Field(description="Length of the call on its own clock.")
    output_dir: str = "."
    audio_user_path: str | None = None
    audio_assistant_path: str | None = None
    audio_mixed_path: str | None = None
    audio_user_clean_path: str | None = None
    transcript_path: str | None = None
    audit_log_path: str | None = None
    pipecat_logs_path: str | None = None
    conversation_log_path: str | None = None
    user_simulator_logs_path: str | None = None
    num_turns: int = 0
    num_tool_calls: int = 0
    tools_called: list[str] = []
    conversation_ended_reason: EndReason
    time_limit_accepted: bool = False

    task_id: str
    attempt: int
    fingerprint: str
    clock: Literal["wall", "media"]
    call_sid: str | None = None
    time_limit_seconds: float | None = Field(default=None, description="Of the call, as it was.")
    cause: str | None = Field(default=None, description="Who is to blame where it failed.")
    frame_lateness: FrameLateness | None = None


class TranscriptRow(BaseModel):
    """A line of `transcript.jsonl`. Seconds count from the start of the call."""

    model_config = ConfigDict(extra="allow")

    timestamp: datetime
    role: Literal["user", "assistant"]
    content: str
    start_seconds: float
    end_seconds: float
    turn: int | None = Field(default=None, description="Index of the caller's scripted turn.")
    interrupted: bool = Field(default=False, description="The other side spoke over its end.")


Event = dict[str, Any]
"""A line of `user_simulator_events.jsonl`, with EVA's keys:

`timestamp` (epoch milliseconds), `sequence`, then either `type` and `data`, or `event_type` with
`user` and `audio_timestamp` (epoch seconds). The last line is `connection_state`/`session_ended`
with `data.details.reason`. Caller turns are
`{"type": "user_speech", "data": {"text", "source": "script", "turn", "start_seconds",
"end_seconds"}}`; `end_seconds` is where the audio ended or was cut off.
"""
