"""How much of the talking the agent does."""

from __future__ import annotations

from typing import Any

from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.regions import total_seconds


class TalkRatio:
    """The agent's share of all speech, from 0 to 1, pauses left out.

    Time in which both speak counts for both. Neither more nor less is better: not normalised.
    Skipped where nobody spoke.
    """

    name = "talk_ratio"
    code_version = "1"
    needs = frozenset({Need.AUDIO})
    pass_threshold = None

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a track is missing or damaged."""
        talk = conversation.talk
        agent = total_seconds(talk.agent_stretches)
        caller = total_seconds(talk.caller_stretches)
        if not agent and not caller:
            return self._score(skipped=True, details={"reason": "nobody spoke"})
        return self._score(
            score=round(agent / (agent + caller), 4),
            details={
                "agent_speech_seconds": round(agent, 3),
                "caller_speech_seconds": round(caller, 3),
                "duration_seconds": round(talk.duration_seconds, 3),
            },
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)
