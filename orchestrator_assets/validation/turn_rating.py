"""What a caller turn sounded like to whoever listened, and the rating that makes of it.

Ratings are EVA's: 3 as meant, 2 with a small fault, 1 something else or a detail missing. A turn
nobody could have understood well is rated 1 whatever was heard: too quiet, or clipped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator_assets.call.speech.comparison import details_in
from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.validation.caller_account import ClaimedTurn
from orchestrator_assets.validation.evidence import CallerEvidence, CallerTrack
from orchestrator_assets.validation.result import USER_SPEECH_FIDELITY
from orchestrator_assets.validation.turn_sound import TrackSound, finite, line_differs

WORST_RATING = 1
BEST_RATING = 3


@dataclass(frozen=True, slots=True)
class Hearing:
    """What was heard of a turn on one track, and what it is worth.

    `missing` are the entities that were not heard as meant. `comment` is the listener's evidence,
    for people.
    """

    file_name: str
    heard: str
    rating: int
    missing: tuple[str, ...]
    comment: str
    character_error_rate: float | None = None


@dataclass(frozen=True, slots=True)
class RatedTurn:
    """A turn (its `text` is what was meant), all that was heard of it, and what was measured.

    `faults` are those of the sound itself, in a line each.
    """

    turn: ClaimedTurn
    hearings: tuple[Hearing, ...]
    sounds: tuple[TrackSound, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def rating(self) -> int:
        """The worst that anything says of it."""
        if self.faults:
            return WORST_RATING
        return min(hearing.rating for hearing in self.hearings)

    def __str__(self) -> str:
        evidence = list(self.faults)
        said = f"meant {self.turn.text!r}"
        if self.hearings:
            worst = self._worst
            said += f", heard {worst.heard!r}" if worst.heard else ", heard nothing"
            if len(self.hearings) > 1:
                said += f" on {worst.file_name}"
            evidence.insert(0, worst.comment)
            if worst.missing:
                evidence.append(f"not heard: {', '.join(worst.missing)}")
        return f"turn {self.turn.turn} rated {self.rating}: {said} ({', '.join(evidence)})"

    def details(self) -> dict[str, Any]:
        """Return it as JSON; what was heard is that of the worst hearing."""
        row: dict[str, Any] = {
            "turn": self.turn.turn,
            "meant": self.turn.text,
            "rating": self.rating,
            "faults": list(self.faults),
        }
        if self.hearings:
            row |= self._heard_details()
        if math.isfinite(self.turn.start_seconds):
            row |= {
                "start_seconds": self.turn.start_seconds,
                "end_seconds": self.turn.end_seconds,
            }
        if self.sounds:
            row["sound"] = {
                sound.file_name: {
                    "level_dbfs": finite(sound.level_dbfs),
                    "clipped_share": round(sound.clipped_share, 4),
                }
                for sound in self.sounds
            }
        return row

    @property
    def _worst(self) -> Hearing:
        return min(self.hearings, key=lambda hearing: hearing.rating)

    def _heard_details(self) -> dict[str, Any]:
        worst = self._worst
        missing = {text for hearing in self.hearings for text in hearing.missing}
        entities = [
            {"text": text, "heard": text not in missing} for text in details_in(self.turn.text)
        ]
        named = {entity["text"] for entity in entities}
        entities += [{"text": text, "heard": False} for text in sorted(missing - named)]
        row: dict[str, Any] = {
            "heard": worst.heard,
            "heard_on": [hearing.file_name for hearing in self.hearings],
            "entities": entities,
            "missing_details": list(worst.missing),
            "comment": worst.comment,
        }
        if worst.character_error_rate is not None:
            row["character_error_rate"] = worst.character_error_rate
        return row


def tracks_to_hear(turn: ClaimedTurn, evidence: CallerEvidence) -> tuple[CallerTrack, ...]:
    """Return the clean track, and the line beside it where the turn sounds different there."""
    return evidence.tracks if line_differs(turn, evidence) else (evidence.clean,)


def fidelity_score(
    turns: Sequence[RatedTurn],
    *,
    left_out: Sequence[ClaimedTurn] = (),
    judged_by: str,
    version: str,
    prompt_hash: str | None = None,
    use: JudgeUse | None = None,
) -> MetricScore:
    """Return the mean rating of the turns (1 to 3); normalised, 0 to 1. Skipped without a turn.

    `left_out` are turns that the end of the call cut off.
    """
    details: dict[str, Any] = {
        "reason": _reason(turns),
        "judged_by": judged_by,
        "per_turn_ratings": {str(rated.turn.turn): rated.rating for rated in turns},
        "turns": [rated.details() for rated in turns],
        "left_out": [
            {"turn": turn.turn, "reason": "the call ended while it was spoken"} for turn in left_out
        ],
    }
    score = MetricScore(
        name=USER_SPEECH_FIDELITY,
        details=details,
        version=version,
        prompt_hash=prompt_hash,
        judge=use,
    )
    if not turns:
        return score.model_copy(update={"skipped": True})
    mean = sum(rated.rating for rated in turns) / len(turns)
    normalized = (mean - WORST_RATING) / (BEST_RATING - WORST_RATING)
    return score.model_copy(
        update={"score": round(mean, 3), "normalized_score": round(normalized, 3)}
    )


def _reason(turns: Sequence[RatedTurn]) -> str:
    if not turns:
        return "the caller said no turn in full"
    faulty = [rated for rated in turns if rated.rating == WORST_RATING]
    return "; ".join(map(str, faulty)) or "every turn was heard as meant"
