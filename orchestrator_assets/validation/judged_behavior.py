"""`user_behavioral_fidelity` of a caller without a script: a language model reads the call.

Where nothing says word by word what was to be said, whether the caller did its part is a question
of judgement. It is asked against what the caller was told: the record's goal and persona, and in
EVA's records the decisions it was to make and the facts it had to give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, Field

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.errors import JudgeError
from orchestrator_assets.judges.prompt import Prompt
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.dialogue import Utterance
from orchestrator_assets.validation.result import USER_BEHAVIORAL_FIDELITY

if TYPE_CHECKING:
    from orchestrator_assets.judges.judge import Judge

VERSION = "1"

_EVA_GOAL = "user_goal"
_EVA_GOAL_IN_SHORT = "high_level_user_goal"
_EVA_FIELDS = ("user_config", "current_date_time")
_ENDINGS: Mapping[str, str] = {
    EndReason.GOODBYE: "The actor ended the call.",
    EndReason.AGENT_HANGUP: "The service hung up.",
    EndReason.INACTIVITY_TIMEOUT: "The call ended because nobody said anything any more.",
    EndReason.TIME_LIMIT_EXCEEDED: "The call was cut off at its time limit.",
}


class BreachKind(StrEnum):
    """How a caller can leave its brief; the prompt says what each means."""

    WRONG_INFORMATION = "wrong_information"
    OTHER_GOAL = "other_goal"
    WRONG_DECISION = "wrong_decision"
    GOAL_NOT_PURSUED = "goal_not_pursued"
    ENDED_TOO_EARLY = "ended_too_early"
    DID_NOT_END = "did_not_end"
    OUT_OF_ROLE = "out_of_role"
    UNPROMPTED = "unprompted"


class Breach(BaseModel):
    """Something the caller did that its brief does not allow."""

    kind: BreachKind
    turn: int = Field(ge=0)
    quote: str
    reason: str


class BehaviorVerdict(BaseModel):
    """What the judge answers. No breach means that the caller did its part."""

    breaches: list[Breach]
    summary: str


@cache
def behavior_prompt() -> Prompt:
    """Return the question the judge is asked."""
    return Prompt.load(__package__, "user_behavior")


def judged_version() -> str:
    """Return the version of the scores made here: it changes with the prompt."""
    return f"{VERSION}-{behavior_prompt().hash_for(BehaviorVerdict)}"


async def judge_behavior(
    record: Record,
    dialogue: Sequence[Utterance],
    ended_reason: str | None,
    judge: Judge,
    directory: Path,
) -> MetricScore:
    """Return 1.0 if the caller kept to what it was told, else 0.0.

    `details.complaints` has every breach with its turn, the words in question, and when they were
    said. Raises JudgeError if there is no answer, or one about turns that the call does not have.
    """
    judgement = await judge.ask(
        behavior_prompt(),
        {
            "brief": _brief(record),
            "dialogue": "\n".join(map(_line, dialogue)),
            "ending": _ENDINGS.get(ended_reason or "", "How the call ended is not known."),
        },
        BehaviorVerdict,
        metric=USER_BEHAVIORAL_FIDELITY,
        directory=directory,
    )
    verdict = judgement.answer
    turns = {said.turn: said for said in dialogue if said.turn is not None}
    for breach in verdict.breaches:
        if breach.turn not in turns:
            raise JudgeError(
                f"{judgement.use.model}: its answer names turn {breach.turn} of the caller, "
                f"which spoke {len(turns)}",
                use=judgement.use,
                raw_answer=verdict.model_dump_json(),
            )
    score = 0.0 if verdict.breaches else 1.0
    return MetricScore(
        name=USER_BEHAVIORAL_FIDELITY,
        score=score,
        normalized_score=score,
        details={
            "reason": _reason(verdict),
            "judged_by": "judge",
            "ended_reason": ended_reason,
            "complaints": [_complaint(breach, turns[breach.turn]) for breach in verdict.breaches],
        },
        version=judged_version(),
        prompt_hash=judgement.prompt_hash,
        judge=judgement.use,
    )


def _reason(verdict: BehaviorVerdict) -> str:
    breaches = "; ".join(
        f"turn {breach.turn}: {breach.kind.value} ({_on_one_line(breach.reason)})"
        for breach in verdict.breaches
    )
    return breaches or _on_one_line(verdict.summary) or "the caller did its part"


def _complaint(breach: Breach, said: Utterance) -> dict[str, Any]:
    row: dict[str, Any] = {
        "rule": breach.kind.value,
        "reason": breach.reason,
        "turn": breach.turn,
        "quote": breach.quote,
    }
    if said.span_seconds is not None:
        row["start_seconds"], row["end_seconds"] = said.span_seconds
    elif said.at_seconds is not None:
        row["start_seconds"] = round(said.at_seconds, 3)
    return row


def _brief(record: Record) -> str:
    parts = [f"Goal: {record.goal}"] if record.goal else []
    if record.persona:
        parts.append(f"Persona: {record.persona}")
    held = record.model_extra or {}
    told = {name: held[name] for name in _EVA_FIELDS if held.get(name)}
    goal = held.get(_EVA_GOAL)
    if isinstance(goal, Mapping):
        told = {name: value for name, value in goal.items() if name != _EVA_GOAL_IN_SHORT} | told
    if told:
        parts.append(yaml.safe_dump(told, allow_unicode=True, sort_keys=False, width=100).strip())
    return "\n\n".join(parts)


def _line(said: Utterance) -> str:
    speaker = "SERVICE" if said.turn is None else f"CALLER {said.turn}"
    at = "" if said.at_seconds is None else f"[{said.at_seconds:.1f} s] "
    return f"{at}{speaker}: {said.text}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
