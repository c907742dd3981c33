"""Whether the agent takes its turns at the right time, by the rules of EVA's `turn_taking`.

EVA takes its times from the logs of its services; these are measured in the recordings. Curves and
bounds are those of version 0.2 of EVA's metric (ServiceNow/eva, docs/metrics/turn_taking.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.eva_reading import call_started_at, eva_time
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.interruptions import (
    AgentInterruption,
    BargeIn,
    agent_interruptions,
    barge_ins,
    yield_score,
)
from orchestrator_assets.metrics.owed_silence import OwedSilence, owed_silences
from orchestrator_assets.metrics.response_latency import Reply, TurnLatency, turn_latencies
from orchestrator_assets.metrics.talk import Talk

_EARLY_SECONDS = (-0.5, 0.5)
_LATE_SECONDS = (2.0, 3.5)
_LATE_WITH_TOOL_SECONDS = (3.0, 5.0)
_INTERRUPTED_AT_MOST = 0.5
_OVERLAP_SECONDS = 2.0
_MOST_INTERRUPTIONS = 3


class TurnTaking:
    """The mean of the scores of the caller's turns, from 0 to 1.

    A turn scores by the latency of the reply: 0 at -0.5 s, 1 from 0.5 to 2 s, 0 from 3.5 s (to 3
    and 5 s if the agent used a tool). If the agent interrupted it, at most 0.5, less for long or
    repeated overlap and for a late reply afterwards. If the caller barged in, by how soon the agent
    yielded. A turn that the agent left unanswered scores 0; the whole call does if it ended so.

    Left out are turns that say nothing: the caller went on, or the call ended, before a reply was
    late. When tools were used is known where the agent's log has a `timestamp` and the call was
    held in real time. Skipped where no turn is left.
    """

    name = "turn_taking"
    code_version = "1"
    needs = frozenset({Need.AUDIO})
    pass_threshold = 0.8

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a file is missing or damaged."""
        talk = conversation.talk
        turns = _Turns(talk, conversation.end_reason, _tool_seconds(conversation)).scored()
        scores = [turn["score"] for turn in turns if turn["score"] is not None]
        timed_out = _timed_out(talk, conversation.end_reason)
        details: dict[str, Any] = {
            "num_turns": len(turns),
            "num_scored_turns": len(scores),
            "agent_timed_out": timed_out,
            "turns": turns,
        }
        if not scores:
            reason = "no turn of the caller can be scored" if turns else "the caller had no turn"
            return self._score(skipped=True, details={"reason": reason, **details})
        mean = sum(scores) / len(scores)
        score = 0.0 if timed_out else round(mean, 4)
        return self._score(
            score=score,
            normalized_score=score,
            details={**details, "mean_of_turns": round(mean, 4)},
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)


class _Turns:
    """Scores the caller's turns one by one."""

    def __init__(
        self, talk: Talk, end_reason: EndReason | None, tool_seconds: Sequence[float]
    ) -> None:
        self._latencies = turn_latencies(talk.caller_turns, talk.agent_turns)
        self._interruptions = agent_interruptions(talk)
        self._barge_ins = barge_ins(talk)
        self._silences = {silence.turn: silence for silence in owed_silences(talk, end_reason)}
        self._tool_seconds = tool_seconds

    def scored(self) -> list[dict[str, Any]]:
        return [self._scored(index, turn) for index, turn in enumerate(self._latencies)]

    def _scored(self, index: int, turn: TurnLatency) -> dict[str, Any]:
        silence = self._silences.get(index)
        with_tool = self._with_tool(turn, silence)
        interruptions = [each for each in self._interruptions if each.turn == index]
        barged_in = [each for each in self._barge_ins if each.turn == index]
        parts = {
            **_interruption_parts(interruptions),
            **_yield_part([each for each in barged_in if each.yielded is not None]),
            **_unanswered_part(turn, silence, with_tool=with_tool),
        }
        # A caller that barged in has been waiting for silence, not for a reply.
        if turn.latency_seconds is not None and (interruptions or not barged_in):
            parts["latency"] = latency_score(turn.latency_seconds, with_tool=with_tool)
        return {
            "turn": index,
            "start_seconds": turn.start_seconds,
            "end_seconds": turn.end_seconds,
            "score": round(min(parts.values()), 4) if parts else None,
            "parts": {name: round(value, 4) for name, value in parts.items()},
            "reply": turn.reply,
            "latency_seconds": turn.latency_seconds,
            "silence_seconds": silence.seconds if silence else 0.0,
            "with_tool": with_tool,
        }

    def _with_tool(self, turn: TurnLatency, silence: OwedSilence | None) -> bool:
        until = turn.reply_seconds
        if until is None:
            until = silence.end_seconds if silence else turn.end_seconds
        return any(turn.start_seconds <= used < until for used in self._tool_seconds)


def latency_score(seconds: float, *, with_tool: bool) -> float:
    """Return EVA's score of a reply that came so many seconds after the turn's end."""
    late = _late_seconds(with_tool=with_tool)
    return float(np.interp(seconds, [*_EARLY_SECONDS, *late], [0.0, 1.0, 1.0, 0.0]))


def _late_seconds(*, with_tool: bool) -> tuple[float, float]:
    return _LATE_WITH_TOOL_SECONDS if with_tool else _LATE_SECONDS


def _interruption_parts(found: Sequence[AgentInterruption]) -> dict[str, float]:
    if not found:
        return {}
    overlap = sum(interruption.overlap_seconds for interruption in found)
    repeated = (len(found) - 1) / (_MOST_INTERRUPTIONS - 1)
    return {
        "overlap": _INTERRUPTED_AT_MOST * max(0.0, 1 - overlap / _OVERLAP_SECONDS),
        "interruptions": _INTERRUPTED_AT_MOST * max(0.0, 1 - repeated),
    }


def _yield_part(found: Sequence[BargeIn]) -> dict[str, float]:
    return {"yield": min(yield_score(each.seconds) for each in found)} if found else {}


def _unanswered_part(
    turn: TurnLatency, silence: OwedSilence | None, *, with_tool: bool
) -> dict[str, float]:
    if turn.reply is not Reply.UNANSWERED or silence is None:
        return {}
    late = _late_seconds(with_tool=with_tool)[0]
    return {"unanswered": 0.0} if silence.seconds > late else {}


def _timed_out(talk: Talk, end_reason: EndReason | None) -> bool:
    """Tell whether the caller hung up because the agent left its last turn unanswered."""
    if end_reason is not EndReason.INACTIVITY_TIMEOUT or not talk.caller_turns:
        return False
    last_words = max((speech.end_seconds for speech in talk.agent_turns), default=0.0)
    return last_words <= talk.caller_turns[-1].end_seconds


def _tool_seconds(conversation: Conversation) -> list[float]:
    """Return when the agent used tools, in seconds of the call, as far as its log tells."""
    report = conversation.call_report
    calls = (report and report.tool_calls) or []
    stated = [(call.model_extra or {}).get("timestamp") for call in calls]
    times = [time for time in map(eva_time, stated) if time is not None]
    # On the media clock, a call is over in a fraction of the time it lasts.
    if not times or conversation.result.clock != "wall":
        return []
    began = call_started_at(conversation.events) or conversation.result.started_at
    return [(time - began).total_seconds() for time in times]
