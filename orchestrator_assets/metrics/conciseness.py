"""Whether each of the agent's turns is as short as it should be, as a language model judges it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.judged_material import Turn, transcript_material
from orchestrator_assets.metrics.judged_rating import Answer, JudgedRating, Rating


class TurnRating(BaseModel):
    """The rating of a turn of the agent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turn: int = Field(ge=1)
    reason: str = Field(min_length=1)
    rating: Rating


class TurnRatings(Answer):
    """A rating for every turn of the agent."""

    turns: list[TurnRating]

    def fault_in(self, turns: Sequence[Turn]) -> str | None:
        """Return which turns are rated that should not be, or not, or twice."""
        rated = Counter(each.turn for each in self.turns)
        due = {turn.number for turn in turns if turn.by_agent}
        faults = {
            "without a rating": sorted(due - rated.keys()),
            "rated that are no turns of the agent": sorted(rated.keys() - due),
            "rated more than once": sorted(turn for turn, times in rated.items() if times > 1),
        }
        found = [f"turns {wrong} are {fault}" for fault, wrong in faults.items() if wrong]
        return "; ".join(found) or None


class Conciseness(JudgedRating[TurnRatings]):
    """The mean of a rating from 1 to 3 for each of the agent's turns."""

    name = "conciseness"
    answer = TurnRatings

    def material(
        self,
        conversation: Conversation,  # noqa: ARG002 - it asks for nothing but the transcript
        turns: Sequence[Turn],
    ) -> Mapping[str, str]:
        """Return the transcript, and the numbers of the turns to rate."""
        numbers = ", ".join(str(turn.number) for turn in turns if turn.by_agent)
        return {"transcript": transcript_material(turns), "agent_turns": numbers}

    def rated(
        self,
        answer: TurnRatings,
        conversation: Conversation,  # noqa: ARG002
        turns: Sequence[Turn],
    ) -> tuple[float, dict[str, Any]]:
        """Return the mean, and the turns with their ratings and seconds."""
        rows = []
        for each in sorted(answer.turns, key=lambda each: each.turn):
            turn = turns[each.turn - 1]
            seconds = {"start_seconds": turn.start_seconds, "end_seconds": turn.end_seconds}
            rows.append({**each.model_dump(), "text": turn.text, **seconds})
        mean = sum(each.rating for each in answer.turns) / len(answer.turns)
        return mean, {"num_turns": len(rows), "turns": rows}
