"""Whether the agent's turns moved the conversation on, as a language model judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.judged_material import (
    Turn,
    agent_words_material,
    as_material,
    tool_calls_material,
    transcript_material,
)
from orchestrator_assets.metrics.judged_rating import JudgedConversation


class ConversationProgression(JudgedConversation):
    """A rating from 1 to 3: no loops, no lost context, nothing asked twice, nothing left open.

    The judge sees the caller's goal and persona, not the expected outcome.
    """

    name = "conversation_progression"

    def material(self, conversation: Conversation, turns: Sequence[Turn]) -> Mapping[str, str]:
        """Return the transcript, what the caller wanted, and which tools were used."""
        record, report = conversation.task.record, conversation.call_report
        return {
            "transcript": transcript_material(turns),
            "agent_words": agent_words_material(report, turns),
            "caller": as_material({"goal": record.goal, "persona": record.persona}),
            "tool_calls": tool_calls_material(report),
        }
