"""Whether the agent leaves the caller waiting in silence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.owed_silence import owed_silences

# By EVA's curve an answer may take 3 s where a tool is used for it; what takes longer is late.
_THRESHOLD_SECONDS = 3.0


class DeadAir:
    """The longest silence of more than 3 s in which the agent owed an answer, in seconds; else 0.

    After a turn of the caller the agent owes an answer, until it speaks, the caller speaks again,
    or the call ends; not, though, where the caller hangs up with a goodbye. Normalised: the share
    of the caller's turns without dead air after them. Skipped where the caller never spoke.
    """

    name = "dead_air"
    code_version = "1"
    needs = frozenset({Need.AUDIO})
    pass_threshold = 1.0

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a file is missing or damaged."""
        talk = conversation.talk
        num_turns = len(talk.caller_turns)
        if not num_turns:
            return self._score(skipped=True, details={"reason": "the caller had no turn"})
        silences = owed_silences(talk, conversation.end_reason)
        dead = [silence for silence in silences if silence.seconds > _THRESHOLD_SECONDS]
        return self._score(
            score=max((silence.seconds for silence in dead), default=0.0),
            normalized_score=round(1 - len(dead) / num_turns, 4),
            details={
                "threshold_seconds": _THRESHOLD_SECONDS,
                "num_turns": num_turns,
                "total_seconds": round(sum((silence.seconds for silence in dead), 0.0), 3),
                "silences": [{**asdict(each), "seconds": each.seconds} for each in dead],
            },
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)
