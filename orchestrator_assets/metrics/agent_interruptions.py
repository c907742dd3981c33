"""How often the agent interrupts the caller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.interruptions import agent_interruptions

_NO_TURN = "the caller had no turn of its own"


class AgentInterruptions:
    """The number of times the agent begins to speak in the middle of a turn of the caller.

    That is at least 0.2 s after the turn's start, more than 0.3 s before its end, and for longer
    than a back-channel ("mm-hm"); see `interruptions`. A pause of the caller of up to 0.8 s belongs
    to its turn. Normalised: the share of the caller's turns that were not interrupted. Skipped
    where either side never spoke.
    """

    name = "agent_interruptions"
    code_version = "1"
    needs = frozenset({Need.AUDIO})
    pass_threshold = 1.0

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a track is missing or damaged."""
        talk = conversation.talk
        if talk.silent_side is not None or not talk.caller_turns:
            return self._score(skipped=True, details={"reason": talk.silent_side or _NO_TURN})
        interruptions = agent_interruptions(talk)
        num_turns = len(talk.caller_turns)
        num_interrupted = len({interruption.turn for interruption in interruptions})
        return self._score(
            score=len(interruptions),
            normalized_score=round(1 - num_interrupted / num_turns, 4),
            details={
                "num_turns": num_turns,
                "num_interrupted_turns": num_interrupted,
                "num_backchannels": len(talk.agent_backchannels),
                "interruptions": [asdict(interruption) for interruption in interruptions],
            },
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)
