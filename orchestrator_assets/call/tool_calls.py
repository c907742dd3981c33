"""The agent's tools and its use of them, as agents report them.

Reports differ: OpenAI nests name and arguments in `function` and writes the arguments as JSON text,
EVA has `parameters` and `response`, others `args`, `input`, `result`, `output`. All are understood;
nothing of a report is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

_ARGUMENT_FIELDS = ("arguments", "parameters", "args", "input")
_RESULT_FIELDS = ("result", "response", "output")
_ERROR_FLAGS = ("is_error", "isError")
_ERROR_STATUS = "error"


class _Named(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str

    @model_validator(mode="before")
    @classmethod
    def _out_of_function(cls, value: Any) -> Any:
        """Lift what OpenAI puts into `function` up to where it is looked for."""
        if isinstance(value, Mapping) and isinstance(nested := value.get("function"), Mapping):
            return {**value, **nested}
        return value


class Tool(_Named):
    """A tool the agent has. `parameters` is the JSON Schema of its arguments."""

    parameters: dict[str, Any] | None = Field(
        default=None, validation_alias=AliasChoices("parameters", "input_schema", "inputSchema")
    )


class ToolCall(_Named):
    """A tool the agent used during the call. What else the agent says of it is kept."""

    def arguments(self) -> Any:
        """Return the arguments; JSON text is parsed, and stays text if it is none.

        An empty object where there were none, None where the agent does not report them.
        """
        reported = self.model_extra or {}
        arguments = _parsed(_first(reported, _ARGUMENT_FIELDS))
        if arguments in (None, ""):
            return {} if any(field in reported for field in _ARGUMENT_FIELDS) else None
        return arguments

    def result(self) -> Any:
        """Return what the tool answered, JSON text parsed; None where it was not reported."""
        return _parsed(_first(self.model_extra or {}, _RESULT_FIELDS))

    def error(self) -> str | None:
        """Return what the tool complained of, in short; None if the call did not fail."""
        for reported in (self.model_extra or {}, self.result()):
            if isinstance(reported, Mapping) and (error := _error_in(reported)) is not None:
                return error
        return None


def _error_in(reported: Mapping[str, Any]) -> str | None:
    failed = reported.get("status") == _ERROR_STATUS or any(
        reported.get(flag) is True for flag in _ERROR_FLAGS
    )
    error = reported.get("error")
    if not failed and not error:
        return None
    message = error if error and error is not True else reported.get("message")
    if message is None:
        return "the tool answered with an error"
    return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)


def _first(reported: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((reported[name] for name in names if reported.get(name) is not None), None)


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
