"""What was asked of judges about a conversation, and what it cost: a line per request.

The lines lie beside the conversation, apart from its scores: a score that is computed again
replaces the earlier one, but what the earlier one cost was paid all the same.
"""

from __future__ import annotations

import threading
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ValidationError

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.store.journal import Journal

JUDGE_CALLS_FILE = "judge_calls.jsonl"

_APPENDING = tuple(threading.Lock() for _ in range(16))


class CallOutcome(StrEnum):
    """What became of a request."""

    ANSWERED = "answered"
    UNUSABLE_ANSWER = "unusable_answer"
    NO_ANSWER = "no_answer"


class JudgeCall(BaseModel):
    """One request to a judge: a line of `judge_calls.jsonl`.

    Tokens are None where nobody told, `cost_usd` (US dollars) where it can't be known. `error` and
    `raw_answer` (at most its first 20,000 characters) are there if there was no usable answer.
    """

    at: datetime
    metric: str
    model: str
    prompt: str
    prompt_version: str
    prompt_hash: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float
    outcome: CallOutcome
    error: str | None = None
    raw_answer: str | None = None

    @property
    def use(self) -> JudgeUse:
        """What it took; nothing where there was no answer."""
        if self.outcome is CallOutcome.NO_ANSWER:
            return JudgeUse(model=self.model)
        metered = self.input_tokens is not None and self.output_tokens is not None
        return JudgeUse(
            model=self.model,
            calls=1,
            input_tokens=self.input_tokens or 0,
            output_tokens=self.output_tokens or 0,
            cost_usd=self.cost_usd,
            unmetered_calls=0 if metered else 1,
            unpriced_calls=1 if self.cost_usd is None else 0,
        )


def append_judge_call(directory: Path, call: JudgeCall) -> None:
    """Add a line to the ledger of the conversation in `directory`, durably. Blocking.

    Threads may append at the same time; other processes must not. Raises FileNotFoundError if
    there is no such directory (any more), and OSError if it can't be written to.
    """
    path = directory / JUDGE_CALLS_FILE
    with _APPENDING[hash(path) % len(_APPENDING)]:
        if not directory.is_dir():
            raise FileNotFoundError(f"{directory} is gone; what its judge cost can't be kept")
        Journal(path).append(call.model_dump(mode="json", exclude_none=True))


def read_judge_calls(directory: Path) -> list[JudgeCall]:
    """Return the requests about the conversation in `directory`, in order; none if there is none.

    A torn last line is left out. Raises RunDirectoryError, naming file and line, for other damage.
    """
    path = directory / JUDGE_CALLS_FILE
    calls = []
    for number, entry in enumerate(Journal(path).read(), start=1):
        try:
            calls.append(JudgeCall.model_validate(entry))
        except ValidationError as error:
            detail = error.errors()[0]
            field = ".".join(str(part) for part in detail["loc"])
            raise RunDirectoryError(f"{path}, line {number}, {field}: {detail['msg']}") from error
    return calls


def judge_use(directory: Path) -> dict[str, JudgeUse]:
    """Return what judging the conversation in `directory` took in all, by metric, sorted.

    It is the sum of its `judge_calls.jsonl`: also of requests whose scores were computed again
    since, or whose answers could not be used. Empty if no judge was asked. Raises as
    `read_judge_calls` does.
    """
    by_metric: dict[str, list[JudgeUse]] = {}
    for call in read_judge_calls(directory):
        by_metric.setdefault(call.metric, []).append(call.use)
    totals = {metric: JudgeUse.total(uses) for metric, uses in sorted(by_metric.items())}
    return {metric: total for metric, total in totals.items() if total is not None}
