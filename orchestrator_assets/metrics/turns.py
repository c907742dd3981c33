"""How many turns the conversation took."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation

_CALLER, _AGENT = "caller", "agent"
_SIDES = {"user": _CALLER, "assistant": _AGENT}

_Begun = tuple[float, str]
"""When a side begins to speak, in seconds of the call."""


class Turns:
    """The number of the caller's turns. Neither more nor fewer are better: not normalised.

    A turn is all that one side says until the other begins to speak. Counted in the recordings, and
    where there are none in the transcript; the details have both counts for both sides.
    """

    name = "turns"
    code_version = "1"
    # Either of two will do.
    needs: frozenset[Need] = frozenset()
    pass_threshold = None

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a file is damaged."""
        counts: dict[str, dict[str, int]] = {}
        if conversation.lacks(Need.AUDIO) is None:
            caller = [(speech.start_seconds, _CALLER) for speech in conversation.caller_speech]
            agent = [(speech.start_seconds, _AGENT) for speech in conversation.agent_speech]
            counts["recordings"] = _num_turns([*caller, *agent])
        if conversation.lacks(Need.TRANSCRIPT) is None:
            rows = conversation.transcript
            counts["transcript"] = _num_turns((row.start_seconds, _SIDES[row.role]) for row in rows)
        if not counts:
            return self._score(
                skipped=True, details={"reason": "there is neither a recording nor a transcript"}
            )
        source = next(iter(counts))
        details: dict[str, Any] = {"counted_in": source, **counts}
        return self._score(score=counts[source]["num_caller_turns"], details=details)

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)


def _num_turns(begun: Iterable[_Begun]) -> dict[str, int]:
    sides = [side for side, _ in groupby(side for _, side in sorted(begun))]
    return {f"num_{side}_turns": sides.count(side) for side in (_CALLER, _AGENT)}
