"""A conversation as material for a judge.

What was said in a call may be anything: a plea for a rating, a new rule, the claim that the
material ends here. So a judge gets it as JSON in which no tag can be written, to be put between
tags. It gets all of it: nothing is shortened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from orchestrator_assets.call.call_report import CallReport
from orchestrator_assets.call.tool_calls import ToolCall
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.state_comparison import wrong_changes

_SIDES = {"user": "caller", "assistant": "agent"}


@dataclass(frozen=True, slots=True)
class Turn:
    """All that one side said until the other spoke. Numbers count both sides' turns, from 1."""

    number: int
    by_agent: bool
    text: str
    start_seconds: float
    end_seconds: float
    interrupted: bool

    def as_material(self) -> dict[str, Any]:
        """Return it as the judge sees it."""
        material = {
            "turn": self.number,
            "speaker": "agent" if self.by_agent else "caller",
            "start_seconds": round(self.start_seconds, 2),
            "end_seconds": round(self.end_seconds, 2),
            "text": self.text,
        }
        return {**material, "interrupted": True} if self.interrupted else material


def turns_of(conversation: Conversation) -> list[Turn]:
    """Return the turns of the transcript; rows without words are none."""
    rows = [row for row in conversation.transcript if row.content.strip()]
    turns = []
    for number, (role, run) in enumerate(groupby(rows, key=lambda row: row.role), start=1):
        said = list(run)
        turns.append(
            Turn(
                number=number,
                by_agent=role == "assistant",
                text=" ".join(row.content.strip() for row in said),
                start_seconds=said[0].start_seconds,
                end_seconds=max(row.end_seconds for row in said),
                interrupted=any(row.interrupted for row in said),
            )
        )
    return turns


def as_material(value: Any) -> str:
    """Return a JSON value as text in which no tag begins or ends."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def transcript_material(turns: Iterable[Turn]) -> str:
    """Return the turns, a line each."""
    return "\n".join(as_material(turn.as_material()) for turn in turns)


def agent_words_material(report: CallReport | None, turns: Sequence[Turn]) -> str:
    """Return the agent's words as it sent them; null where it does not tell, or nothing new."""
    texts = report.agent_texts if report else None
    sent = " ".join(texts or ()).split()
    heard = " ".join(turn.text for turn in turns if turn.by_agent).split()
    return as_material(texts if sent and sent != heard else None)


def tool_calls_material(report: CallReport | None) -> str:
    """Return the agent's log of its tool calls, null where it gave none."""
    calls = report.tool_calls if report else None
    return as_material(None if calls is None else [_tool_call(call) for call in calls])


def tools_material(report: CallReport | None) -> str:
    """Return the tools the agent has, null where it does not tell."""
    tools = report.tools if report else None
    if tools is None:
        return as_material(None)
    return as_material([tool.model_dump(mode="json", exclude_none=True) for tool in tools])


def records_material(conversation: Conversation) -> str:
    """Return what the call changed in the agent's state, null where that is not known.

    The state before the call comes with it where no tool call tells a result: what the agent could
    have looked up is nowhere else then. Never what should have come of the call.
    """
    initial, final = conversation.initial_state, conversation.final_state
    if initial is None or final is None:
        return as_material(None)
    changes = []
    for difference in wrong_changes(initial, final, initial):
        sides = difference.as_details()
        names = {"pointer": "pointer", "expected": "before", "actual": "after"}
        changes.append({names[name]: value for name, value in sides.items()})
    report = conversation.call_report
    calls = (report and report.tool_calls) or ()
    known = any(call.result() is not None for call in calls)
    return as_material({"changes": changes} if known else {"changes": changes, "before": initial})


def _tool_call(call: ToolCall) -> dict[str, Any]:
    parts = {"arguments": call.arguments(), "result": call.result(), "error": call.error()}
    return {"name": call.name} | {name: value for name, value in parts.items() if value is not None}
