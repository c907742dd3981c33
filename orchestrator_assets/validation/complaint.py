"""What is held against a caller, and when it happened."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Rule(StrEnum):
    """What a scripted caller must not do."""

    UNKNOWN_TURN = "unknown_turn"
    """It spoke a turn that its script does not have."""
    WRONG_WORDS = "wrong_words"
    WRONG_ENTITY = "wrong_entity"
    """A code, number, date, time or amount is not the script's."""
    INAUDIBLE = "inaudible"
    """It says that it spoke, but the recording is silent there."""
    REPEATED = "repeated"
    OUT_OF_ORDER = "out_of_order"
    CUT_OFF = "cut_off"
    LEFT_OUT = "left_out"
    UNASKED = "unasked"
    """It spoke although the agent had said nothing since its turn before."""
    INTERRUPTED_THE_AGENT = "interrupted_the_agent"
    """It spoke while the agent did, which its script does not tell it to."""
    MISSED_BARGE_IN = "missed_barge_in"
    """Its script tells it to speak while the agent does, and it did not."""
    HUNG_UP_EARLY = "hung_up_early"
    GAVE_UP_EARLY = "gave_up_early"
    """It hung up for the agent's silence before that had lasted long enough."""
    UNCLAIMED_SPEECH = "unclaimed_speech"
    """It is heard where it does not say that it spoke."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A breach of a rule. `reason` is one line for people; seconds count from the call's start."""

    rule: Rule
    reason: str
    start_seconds: float | None = None
    end_seconds: float | None = None
    turn: int | None = None

    def details(self) -> dict[str, Any]:
        """Return it as JSON, without what it does not have."""
        return {
            "rule": self.rule.value,
            "reason": self.reason,
            **{
                name: round(value, 3) if isinstance(value, float) else value
                for name in ("turn", "start_seconds", "end_seconds")
                if (value := getattr(self, name)) is not None
            },
        }
