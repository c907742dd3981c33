"""What EVA 2.1 reads of a run, transcribed from its models and readers.

Only what EVA requires is required here; where EVA indexes a dictionary, so does the model.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field


class ErrorDetails(BaseModel):
    error_type: str
    error_source: str
    is_retryable: bool
    retry_count: int = 0
    retry_succeeded: bool = False
    timestamps: list[str] = []
    stack_trace: str | None = None
    original_error: str


class LatencyStats(BaseModel):
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    total_calls: int


class ConversationResult(BaseModel):
    """`result.json`, and the paths without which its metrics find nothing."""

    record_id: str
    completed: bool
    error: str | None = None
    error_details: ErrorDetails | None = None
    llm_latency: LatencyStats | None = None
    stt_latency: LatencyStats | None = None
    tts_latency: LatencyStats | None = None
    model_response_latency: LatencyStats | None = None
    started_at: datetime
    ended_at: datetime
    duration_seconds: float
    output_dir: str
    audio_assistant_path: str
    audio_user_path: str
    audio_mixed_path: str
    transcript_path: str
    audit_log_path: str
    conversation_log_path: str
    pipecat_logs_path: str
    user_simulator_logs_path: str
    num_turns: int
    num_tool_calls: int
    tools_called: list[str]
    conversation_ended_reason: str
    time_limit_accepted: bool


class AuditLogEntry(BaseModel):
    value: str | dict[str, Any]
    displayName: str  # noqa: N815 - EVA's name
    type: str
    isBotMessage: bool  # noqa: N815 - EVA's name
    timestamp: str = Field(pattern=r"^\d{13}$")
    message_type: Literal["user", "assistant", "tool_call", "tool_response", "llm_call"]


class AuditLog(BaseModel):
    transcript: list[AuditLogEntry] = Field(min_length=1)
    llm_prompts: list[dict[str, Any]]
    conversation_messages: list[dict[str, Any]]


class FrameworkEventData(BaseModel):
    frame: str


class FrameworkEvent(BaseModel):
    timestamp: int
    type: Literal["turn_start", "turn_end", "tts_text", "llm_response"]
    data: FrameworkEventData


class TranscriptRow(BaseModel):
    timestamp: str
    role: Literal["user", "assistant"]
    content: str


class ConnectionDetails(BaseModel):
    reason: str


class ConnectionState(BaseModel):
    state: Literal["session_ended"]
    details: ConnectionDetails


class LastEvent(BaseModel):
    timestamp: int
    sequence: int
    type: Literal["connection_state"]
    data: ConnectionState


class MetricScore(BaseModel):
    name: str
    score: float | None = None
    normalized_score: float | None = None
    details: dict[str, Any] = {}
    error: str | None = None
    skipped: bool = False
    version: str | None = None
    prompt_hash: str | None = None


class RecordMetrics(BaseModel):
    record_id: str
    context: dict[str, Any] | None
    metrics: dict[str, MetricScore]
    aggregate_metrics: dict[str, float | None]


class RunConfig(BaseModel):
    """`config.json`, as the metrics runner and the Streamlit app index it."""

    domain: str
    language: str
    dataset_path: str
    num_trials: int
    model: dict[str, Any] = Field(min_length=1)
    model_list: list[dict[str, Any]]
    provenance: dict[str, Any]
    max_rerun_attempts: int
    validation_thresholds: dict[str, float]
    max_concurrent_conversations: int
    conversation_time_limit_seconds: float
    record_ids: list[str] | None
    debug: bool


class MetricStatistics(BaseModel):
    mean: float | None
    min: float | None
    max: float | None
    count: int
    none_count: int
    error_count: int
    missing_count: int
    total_records: int


class DataQuality(BaseModel):
    records_with_any_none: int
    records_with_errors: int
    records_with_missing: int
    total_records: int
    metrics_with_errors: dict[str, Any]


class MetricsSummary(BaseModel):
    total_records: int
    data_quality: DataQuality
    per_metric: dict[str, MetricStatistics]


class Simulation(BaseModel):
    total_records: int
    successful_records: int
    failed_records: int
    not_finished_count: int
    validation_failed_count: int
    failed_record_ids: list[str]
    successful_record_ids: list[str]
    time_limit_accepted_record_ids: list[str]


class EvaluationSummary(BaseModel):
    started_at: datetime
    ended_at: datetime
    duration_seconds: float
    simulation: Simulation
    rerun_history: dict[str, list[dict[str, Any]]]
    final_failures: dict[str, dict[str, Any]]
