"""How long both sides speak at once."""

from __future__ import annotations

from typing import Any

from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.regions import EDGE_SECONDS, holds, overlaps, total_seconds
from orchestrator_assets.metrics.talk import Talk

# Edges of both sides may be off; what is shorter may be no overlap at all.
_SHORTEST_SECONDS = 2 * EDGE_SECONDS


class TalkOver:
    """The seconds in which both speak, whoever began.

    Normalised: the share of the caller's speech that the agent did not talk over, which is what it
    may not have understood. Of the call, silence included, the share would be small however badly
    the agent behaves. Skipped where either side never spoke.
    """

    name = "talk_over"
    code_version = "1"
    needs = frozenset({Need.AUDIO})
    # How much of it a good call bears depends on how often its caller barges in.
    pass_threshold = None

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a track is missing or damaged."""
        talk = conversation.talk
        if talk.silent_side is not None:
            return self._score(skipped=True, details={"reason": talk.silent_side})
        both = [
            stretch
            for stretch in overlaps(talk.caller_stretches, talk.agent_stretches)
            if stretch.duration_seconds > _SHORTEST_SECONDS
        ]
        seconds, of_caller = total_seconds(both), total_seconds(talk.caller_stretches)
        return self._score(
            score=round(seconds, 3),
            normalized_score=round(1 - seconds / of_caller, 4),
            details={
                "caller_speech_seconds": round(of_caller, 3),
                "stretches": [_details(stretch, talk) for stretch in both],
            },
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)


def _details(stretch: SpeechRegion, talk: Talk) -> dict[str, Any]:
    # Just before it, only the side was heard that spoke first.
    before = stretch.start_seconds - 1e-6
    agent_was_first = any(holds(each, before) for each in talk.agent_stretches)
    caller_was_first = any(holds(each, before) for each in talk.caller_stretches)
    first = {(True, False): "agent", (False, True): "caller"}
    return {
        "start_seconds": round(stretch.start_seconds, 3),
        "end_seconds": round(stretch.end_seconds, 3),
        "first": first.get((agent_was_first, caller_was_first), "both"),
    }
