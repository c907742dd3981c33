"""`user_speech_fidelity`: was the caller's speech what it meant to say?

Every turn is cut out of the caller's clean track, transcribed, and compared with the script: by
space-free character error rate, and by whether its details (codes, numbers, dates, times, amounts)
were heard, since a wrong digit in a long sentence is a smaller error than a recogniser makes by
itself. Ratings are EVA's: 3 as meant, 2 with a small fault, 1 something else or a detail missing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from orchestrator_assets.audio.samples import resample
from orchestrator_assets.call.speech.base import SpeechToText
from orchestrator_assets.call.speech.comparison import character_error_rate, missing_details
from orchestrator_assets.evaluation import SpeechFidelityThresholds
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.caller_account import ClaimedTurn
from orchestrator_assets.validation.evidence import CallerEvidence
from orchestrator_assets.validation.result import USER_SPEECH_FIDELITY

VERSION = "1"

_WORST_RATING = 1
_BEST_RATING = 3
# Recognisers want a little silence around speech; the caller's next turn is further away.
_MARGIN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class RatedTurn:
    """A caller turn: what was meant, what was heard, how far apart they are, what got lost."""

    turn: int
    meant: str
    heard: str
    character_error_rate: float
    missing_details: tuple[str, ...]
    rating: int

    def __str__(self) -> str:
        heard = repr(self.heard) if self.heard else "nothing"
        evidence = [f"CER {self.character_error_rate:.2f}"]
        if self.missing_details:
            evidence.append(f"not heard: {', '.join(self.missing_details)}")
        return (
            f"turn {self.turn} rated {self.rating}: meant {self.meant!r}, heard {heard} "
            f"({', '.join(evidence)})"
        )


def score_speech_fidelity(
    record: Record,
    evidence: CallerEvidence,
    speech_to_text: SpeechToText,
    thresholds: SpeechFidelityThresholds,
) -> MetricScore:
    """Return the mean rating of the turns said (1 to 3); normalised, 0 to 1. Blocking.

    A turn that was cut off by the end of the call is left out, and listed in `details.left_out`.
    Skipped if no turn is left. Raises SpeechEngineError if the engine fails.
    """
    claims = [claim for claim in evidence.turns if 0 <= claim.turn < len(record.turns)]
    left_out = [claim for claim in claims if evidence.cut_off_by_the_end_of_the_call(claim)]
    turns = [
        _rate(record.turns[claim.turn].say, claim, evidence, speech_to_text, thresholds)
        for claim in claims
        if claim not in left_out
    ]
    details: dict[str, Any] = {
        "reason": _reason(turns),
        "per_turn_ratings": {str(turn.turn): turn.rating for turn in turns},
        "turns": [
            {**asdict(turn), "missing_details": list(turn.missing_details)} for turn in turns
        ],
        "left_out": [
            {"turn": claim.turn, "reason": "the call ended while it was spoken"}
            for claim in left_out
        ],
    }
    if not turns:
        return MetricScore(
            name=USER_SPEECH_FIDELITY, skipped=True, details=details, version=VERSION
        )
    mean = sum(turn.rating for turn in turns) / len(turns)
    return MetricScore(
        name=USER_SPEECH_FIDELITY,
        score=round(mean, 3),
        normalized_score=round((mean - _WORST_RATING) / (_BEST_RATING - _WORST_RATING), 3),
        details=details,
        version=VERSION,
    )


def speaks_as_meant(score: MetricScore) -> bool:
    """Tell whether the score passes: no turn is rated 1."""
    return _WORST_RATING not in score.details.get("per_turn_ratings", {}).values()


def _rate(
    meant: str,
    claim: ClaimedTurn,
    evidence: CallerEvidence,
    speech_to_text: SpeechToText,
    thresholds: SpeechFidelityThresholds,
) -> RatedTurn:
    sound = resample(
        evidence.sound_of(claim, _MARGIN_SECONDS),
        evidence.clean_sample_rate_hz,
        speech_to_text.sample_rate_hz,
    )
    heard = speech_to_text.transcribe(sound) if sound.size else ""
    error_rate = character_error_rate(meant, heard)
    missing = missing_details(meant, heard)
    if missing or error_rate > thresholds.rating_2:
        rating = _WORST_RATING
    else:
        rating = _BEST_RATING if error_rate <= thresholds.rating_3 else 2
    return RatedTurn(claim.turn, meant, heard, round(error_rate, 4), missing, rating)


def _reason(turns: list[RatedTurn]) -> str:
    if not turns:
        return "the caller said no turn in full"
    faulty = [turn for turn in turns if turn.rating == _WORST_RATING]
    return "; ".join(map(str, faulty)) or "every turn was heard as meant"
