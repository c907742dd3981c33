"""Whether the conversation came to an end of its own, within the time it had."""

from __future__ import annotations

from typing import Any

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation

_REASONS = {
    EndReason.GOODBYE: (1.0, "the caller said goodbye and hung up"),
    EndReason.AGENT_HANGUP: (1.0, "the agent hung up"),
    EndReason.TIME_LIMIT_EXCEEDED: (0.0, "the call ran into its time limit"),
    EndReason.INACTIVITY_TIMEOUT: (0.0, "the agent fell silent, and the caller gave up waiting"),
}


class ConversationCompletedOnTime:
    """1.0 if one side ended the conversation before the time limit, else 0.0.

    A call whose agent fell silent ended before the limit too, but was not completed: 0.0. (EVA has
    a metric for each of the two, of which this is the lower.) Skipped where the call was broken off
    by something that is neither the agent's nor the caller's doing.
    """

    name = "conversation_completed_on_time"
    code_version = "1"
    needs: frozenset[Need] = frozenset()
    pass_threshold = 1.0

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if `result.json` is not usable."""
        result = conversation.result
        ended = result.conversation_ended_reason
        details: dict[str, Any] = {
            "ended_reason": ended.value,
            "duration_seconds": round(result.duration_seconds, 3),
            "time_limit_seconds": result.time_limit_seconds,
        }
        if ended not in _REASONS:
            details["reason"] = f"the call was broken off ({ended.value})"
            return MetricScore(
                name=self.name, skipped=True, details=details, version=self.code_version
            )
        score, details["reason"] = _REASONS[ended]
        return MetricScore(
            name=self.name,
            score=score,
            normalized_score=score,
            details=details,
            version=self.code_version,
        )
