"""What an endpoint sent back, read strictly: a verdict as it was asked for, or the fault in it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, ValidationError

from orchestrator_assets.store.atomic import without_lone_surrogates

AnswerModel = TypeVar("AnswerModel", bound=BaseModel)

_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(?P<inner>.*)\n[ \t]*```\Z", re.DOTALL)
_CUT_SHORT = {
    "length": "was cut off at the most tokens the model may write (finish_reason length)",
    "content_filter": "was withheld by a content filter",
    "tool_calls": "is a call of a tool",
    "function_call": "is a call of a function",
}
_FAULTS_TOLD = 3


@dataclass(frozen=True, slots=True)
class Reply(Generic[AnswerModel]):
    """What came back: `answer`, or `fault` (the end of a sentence that begins "its answer").

    Tokens are None where the endpoint does not tell. `raw` is the model's text, or where there is
    none all that the endpoint sent.
    """

    answer: AnswerModel | None
    fault: str | None
    raw: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class UnusableAnswerError(ValueError):
    """The text is no answer to what was asked; the message ends a sentence of it."""


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    """A chat completion, of which only this is looked at (OpenAI's API reference)."""

    choices: list[_Choice] = Field(min_length=1)


def read_reply(body: bytes, answer: type[AnswerModel]) -> Reply[AnswerModel]:
    """Return what the body of a successful HTTP response says. Takes as long as the body is big."""
    raw = body.decode("utf-8", "replace")
    try:
        sent = json.loads(raw)
    except (ValueError, RecursionError):
        return Reply(None, "is not JSON", raw)
    tokens = _tokens(sent)
    try:
        completion = _Completion.model_validate(_without_surrogates(sent))
    except ValidationError as error:
        return Reply(None, f"is no chat completion: {_described(error)}", raw, *tokens)
    choice = completion.choices[0]
    text = choice.message.content
    try:
        # From what was sent: there, a lone surrogate still is one.
        content = None if text is None else sent["choices"][0]["message"]["content"]
        return Reply(_answer(choice, content, answer), None, text or "", *tokens)
    except UnusableAnswerError as error:
        return Reply(None, str(error), text or choice.message.refusal or raw, *tokens)


def _answer(choice: _Choice, content: str | None, answer: type[AnswerModel]) -> AnswerModel:
    if choice.message.refusal:
        raise UnusableAnswerError(f"is a refusal: {choice.message.refusal}")
    if choice.finish_reason in _CUT_SHORT:
        raise UnusableAnswerError(_CUT_SHORT[choice.finish_reason])
    if content is None or not content.strip():
        raise UnusableAnswerError("is empty")
    return parse_answer(content, answer)


def parse_answer(text: str, answer: type[AnswerModel]) -> AnswerModel:
    """Return the answer in a text that is JSON and nothing else, but for a code fence around it.

    Types are taken strictly: `"3"` and `true` are no numbers. Raises UnusableAnswerError.
    """
    stripped = text.strip()
    fenced = _FENCED.match(stripped)
    document = fenced["inner"] if fenced else stripped
    try:
        value = json.loads(
            document,
            parse_constant=_not_a_number,
            parse_float=_finite,
            object_pairs_hook=_without_doubles,
        )
    except UnusableAnswerError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnusableAnswerError(f"is not JSON: {error}") from None
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise UnusableAnswerError("holds half of a character (a lone surrogate)") from None
    try:
        parsed = answer.model_validate_json(document)
    except ValidationError as error:
        raise UnusableAnswerError(f"is not as asked for: {_described(error)}") from None
    # pydantic takes `"3"` for a number, and `true` for the 1 of a Literal[1, 2, 3].
    for fault in Draft202012Validator(answer.model_json_schema()).iter_errors(value):
        raise UnusableAnswerError(f"is not as asked for: {fault.json_path}: {fault.message}")
    return parsed


def _tokens(sent: Any) -> tuple[int | None, int | None]:
    usage = sent.get("usage") if isinstance(sent, dict) else None
    if not isinstance(usage, dict):
        return None, None
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


def _not_a_number(constant: str) -> NoReturn:
    raise UnusableAnswerError(f"holds {constant}, which is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise UnusableAnswerError(f"holds a number that is too big: {digits[:20]}")
    return number


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise UnusableAnswerError("says the same field twice")
    return value


def _described(error: ValidationError) -> str:
    faults = [
        f"{'.'.join(str(part) for part in detail['loc']) or 'it'}: {detail['msg']}"
        for detail in error.errors(include_url=False, include_input=False)
    ]
    more = f"; and {len(faults) - _FAULTS_TOLD} more" if len(faults) > _FAULTS_TOLD else ""
    return "; ".join(faults[:_FAULTS_TOLD]) + more
