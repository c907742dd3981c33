"""How long the agent takes to answer, measured in the recordings.

For every caller turn: the time from the end of its sound in `audio_user.wav` to the onset of the
agent's next turn in `audio_assistant.wav`. The two tracks share one time line, so this is what a
person on the line would have measured, whatever either side's log says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

import numpy as np

from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.interruptions import TURN_END_SECONDS


class Reply(StrEnum):
    """What became of a caller turn."""

    ANSWERED = "answered"
    INTERRUPTED = "interrupted"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class TurnLatency:
    """A caller turn and the agent's reply to it. Seconds count from the start of the call."""

    start_seconds: float
    end_seconds: float
    reply: Reply
    reply_seconds: float | None = None
    latency_seconds: float | None = None


class ResponseLatency:
    """The mean latency in seconds; lower is better, so there is no normalised score.

    A reply that begins in the last 0.3 s of the turn has a negative latency. Left out, and counted
    in the details: turns the agent interrupted (its reply began earlier than that) and turns nobody
    answered. Skipped when no turn is left.
    """

    name = "response_latency"
    code_version = "2"
    needs = frozenset({Need.AUDIO})
    pass_threshold = None

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a track is missing or damaged."""
        turns = turn_latencies(conversation.talk.caller_turns, conversation.talk.agent_turns)
        latencies = [turn.latency_seconds for turn in turns if turn.latency_seconds is not None]
        details: dict[str, object] = {
            "num_turns": len(turns),
            "num_answered": len(latencies),
            "num_interrupted": sum(turn.reply is Reply.INTERRUPTED for turn in turns),
            "num_unanswered": sum(turn.reply is Reply.UNANSWERED for turn in turns),
            "per_turn": [asdict(turn) for turn in turns],
        }
        if not latencies:
            details["reason"] = "no caller turn was answered"
            return MetricScore(
                name=self.name, skipped=True, details=details, version=self.code_version
            )
        p50, p95 = np.percentile(latencies, [50, 95])
        details |= {
            "p50_seconds": round(float(p50), 3),
            "p95_seconds": round(float(p95), 3),
            "max_seconds": max(latencies),
        }
        score = round(sum(latencies) / len(latencies), 3)
        return MetricScore(name=self.name, score=score, details=details, version=self.code_version)


def turn_latencies(
    caller: Sequence[SpeechRegion], agent: Sequence[SpeechRegion]
) -> list[TurnLatency]:
    """Return, for every turn of the caller, when the agent answered it.

    A reply is the agent's first turn that begins at the turn's end or later, and before the
    caller's next turn.
    """
    latencies = []
    for index, turn in enumerate(caller):
        following = caller[index + 1].start_seconds if index + 1 < len(caller) else float("inf")
        latencies.append(_turn_latency(turn, following, agent))
    return latencies


def _turn_latency(
    turn: SpeechRegion, next_turn_seconds: float, agent: Sequence[SpeechRegion]
) -> TurnLatency:
    start, end = round(turn.start_seconds, 3), round(turn.end_seconds, 3)
    reply_from = max(start, end - TURN_END_SECONDS)
    if any(
        start < speech.start_seconds < reply_from < end < speech.end_seconds for speech in agent
    ):
        return TurnLatency(start, end, Reply.INTERRUPTED)
    onsets = (speech.start_seconds for speech in agent if speech.start_seconds >= reply_from)
    onset = next(onsets, None)
    if onset is None or onset >= next_turn_seconds:
        return TurnLatency(start, end, Reply.UNANSWERED)
    return TurnLatency(start, end, Reply.ANSWERED, round(onset, 3), round(onset - end, 3))
