"""How often the caller barges in on the agent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.interruptions import barge_ins


class CallerInterruptions:
    """The number of turns that the caller begins while the agent speaks.

    The agent has spoken for at least 0.2 s by then, and is not at its very end. A back-channel
    ("mm-hm") is no turn. Not normalised: it is the caller's doing, and often its script's. Skipped
    where either side never spoke.
    """

    name = "caller_interruptions"
    code_version = "1"
    needs = frozenset({Need.AUDIO})
    pass_threshold = None

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a track is missing or damaged."""
        talk = conversation.talk
        if talk.silent_side is not None:
            return self._score(skipped=True, details={"reason": talk.silent_side})
        found = [barge_in for barge_in in barge_ins(talk) if not barge_in.collision]
        return self._score(
            score=len(found),
            details={
                "num_turns": len(talk.caller_turns),
                "num_backchannels": len(talk.caller_backchannels),
                "interruptions": [asdict(barge_in) for barge_in in found],
            },
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)
