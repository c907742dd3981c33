"""A question as a chat completions request."""

from __future__ import annotations

import base64
import io
import json
import re
from typing import Any

import soundfile
from pydantic import BaseModel

from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.judges.settings import JudgeSettings, StructuredOutput
from orchestrator_assets.store.atomic import without_lone_surrogates

_NAMED_SCHEMAS = frozenset({"properties", "$defs"})
# Of OpenAI's and Azure's guides to structured outputs, what either does not support.
_BOUNDS = frozenset(
    {
        "default",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "uniqueItems",
    }
)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


def chat_request(
    settings: JudgeSettings,
    model: str,
    text: str,
    answer: type[BaseModel],
    *,
    audio: Samples | None = None,
    audio_sample_rate_hz: int = 16_000,
) -> dict[str, Any]:
    """Return the arguments of the client's `chat.completions.create`.

    `audio`, mono PCM16, goes along as a WAV file. Blocking: encoding takes time.
    """
    if settings.structured_output is not StructuredOutput.JSON_SCHEMA:
        schema = json.dumps(answer.model_json_schema(), ensure_ascii=False)
        text += f"\n\nAnswer with one JSON object and nothing else. Its JSON Schema:\n\n{schema}\n"
    # A transcript may hold what no encoder takes.
    content: Any = without_lone_surrogates(text)
    if audio is not None:
        content = [{"type": "text", "text": content}, _audio_part(audio, audio_sample_rate_hz)]
    request = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        **_response_format(settings.structured_output, answer),
    }
    if settings.temperature is not None:
        request["temperature"] = settings.temperature
    if settings.extra_body:
        request["extra_body"] = settings.extra_body
    return request


def _response_format(structured: StructuredOutput, answer: type[BaseModel]) -> dict[str, Any]:
    if structured is StructuredOutput.NONE:
        return {}
    if structured is StructuredOutput.JSON_OBJECT:
        return {"response_format": {"type": "json_object"}}
    schema = {
        "name": _NOT_IN_A_NAME.sub("_", answer.__name__)[:64],
        "schema": strict_schema(answer),
        "strict": True,
    }
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def strict_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema in the form that `strict` demands: no field optional, none besides.

    Bounds are left out: which of them an endpoint takes differs, and what it does not take it
    answers with HTTP 400. Answers are held to them all the same.
    """
    from openai import pydantic_function_tool  # noqa: PLC0415 - it takes a second

    return dict(_without_bounds(pydantic_function_tool(answer)["function"]["parameters"]))


def _without_bounds(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_bounds(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        keyword: (
            {name: _without_bounds(each) for name, each in value.items()}
            if keyword in _NAMED_SCHEMAS
            else _without_bounds(value)
        )
        for keyword, value in schema.items()
        if keyword not in _BOUNDS
    }


def _audio_part(samples: Samples, sample_rate_hz: int) -> dict[str, Any]:
    wav = io.BytesIO()
    soundfile.write(wav, samples, sample_rate_hz, subtype="PCM_16", format="WAV")
    data = base64.b64encode(wav.getbuffer()).decode("ascii")
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
