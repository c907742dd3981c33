"""How soon the agent falls silent when the caller barges in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.interruptions import BargeIn, barge_ins, yield_score


class Yielding:
    """The mean time in seconds that the agent talks on after the caller has begun to speak.

    Normalised by EVA's curve, from 1 at once to 0 after 2 s. An agent that talks on for 2 s has not
    yielded: it says what it had to say. Pauses of up to 0.7 s between its sentences are no silence,
    unless the caller's turn ends in one. A collision, where both begin within 0.2 s, counts like a
    barge-in: one of them has to yield. Left out: barge-ins that the call's end cut short. Skipped
    where none is left.
    """

    name = "yielding"
    code_version = "1"
    needs = frozenset({Need.AUDIO})
    # Within a second in the mean: an agent needs some 0.3 s to be sure that somebody speaks.
    pass_threshold = 0.5

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a track is missing or damaged."""
        found = barge_ins(conversation.talk)
        known = [barge_in for barge_in in found if barge_in.yielded is not None]
        details: dict[str, Any] = {
            "num_barge_ins": len(found),
            "num_not_yielded": sum(barge_in.yielded is False for barge_in in found),
            "num_cut_by_the_end": len(found) - len(known),
            "barge_ins": [_details(barge_in) for barge_in in found],
        }
        if not known:
            details["reason"] = "the caller never barged in" if not found else "the call ended"
            return self._score(skipped=True, details=details)
        seconds = [barge_in.seconds for barge_in in known]
        return self._score(
            score=round(sum(seconds) / len(seconds), 3),
            normalized_score=round(sum(map(yield_score, seconds)) / len(seconds), 4),
            details={**details, "max_seconds": max(seconds)},
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)


def _details(barge_in: BargeIn) -> dict[str, Any]:
    known = barge_in.yielded is not None
    return {**asdict(barge_in), "score": yield_score(barge_in.seconds) if known else None}
