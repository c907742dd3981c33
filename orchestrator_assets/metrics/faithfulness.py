"""Whether what the agent said and did is true to what it knew, as a language model judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.judged_material import (
    Turn,
    agent_words_material,
    as_material,
    records_material,
    tool_calls_material,
    tools_material,
    transcript_material,
)
from orchestrator_assets.metrics.judged_rating import JudgedConversation


class Faithfulness(JudgedConversation):
    """A rating from 1 to 3: no invented facts or actions, no broken rule of its instructions.

    The judge sees what the agent reports of itself (instructions, tools, tool calls and their
    results) and what changed in its state; neither the record's goal nor its expected outcome.
    """

    name = "faithfulness"

    def material(self, conversation: Conversation, turns: Sequence[Turn]) -> Mapping[str, str]:
        """Return the transcript, and all that the agent could know."""
        report = conversation.call_report
        return {
            "transcript": transcript_material(turns),
            "agent_words": agent_words_material(report, turns),
            "instructions": as_material(report.instructions if report else None),
            "tools": tools_material(report),
            "tool_calls": tool_calls_material(report),
            "records": records_material(conversation),
        }
