"""Which model judges, where it is reached, and within which limits."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class StructuredOutput(StrEnum):
    """How an endpoint is asked to answer in JSON (`response_format`)."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    NONE = "none"


class JudgeSettings(BaseModel):
    """A model behind an OpenAI-compatible chat completions endpoint.

    Keys never stand in the evaluation: `api_key_env` names the environment variable that holds
    one. `model` and `base_url`, too, are taken from the environment where they are absent.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(default=None, min_length=1)
    model_env: str = Field(default="JUDGE_MODEL", min_length=1)
    base_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="Such as https://api.openai.com/v1, which it is if nothing says otherwise.",
    )
    base_url_env: str = Field(default="OPENAI_BASE_URL", min_length=1)
    api_key_env: str = Field(default="OPENAI_API_KEY", min_length=1)
    timeout_seconds: float = Field(
        default=60.0, gt=0, description="Of one request; waiting for a free place is not counted."
    )
    max_concurrent_requests: int = Field(default=8, ge=1, le=1_000)
    max_retries: int = Field(
        default=4,
        ge=0,
        le=20,
        description="Of a request that got no answer (429, 5xx, no connection), with backoff.",
    )
    answer_tries: int = Field(
        default=2, ge=1, le=10, description="How often it is asked until its answer can be used."
    )
    outage_pause_seconds: float = Field(
        default=30.0,
        ge=0,
        description="After an endpoint gave no answer at all, nobody asks it again for so long.",
    )
    structured_output: StructuredOutput = StructuredOutput.JSON_SCHEMA
    temperature: float | None = Field(default=None, ge=0, le=2)
    extra_body: dict[str, Any] = Field(
        default_factory=dict, description="Sent with every request, such as reasoning_effort."
    )
    input_usd_per_million_tokens: float | None = Field(default=None, ge=0)
    output_usd_per_million_tokens: float | None = Field(default=None, ge=0)
