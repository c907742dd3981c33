"""`user_speech_fidelity`: was the caller's speech what it meant to say?

Every turn is cut out of the caller's recordings. Its level and its clipping are measured on both:
on what the caller said, and on the line, which is what the agent was sent. Then it is transcribed,
the line too if it sounds different, and compared with the script: by space-free character error
rate, and by whether its details (codes, numbers, dates, times, amounts) were heard, since a wrong
digit in a long sentence is a smaller error than a recogniser makes by itself. A turn that is not
heard as meant is listened to again, a little slower and a little faster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator_assets.audio.samples import resample
from orchestrator_assets.call.speech.base import Samples, SpeechToText
from orchestrator_assets.call.speech.comparison import character_error_rate, missing_details
from orchestrator_assets.evaluation import SpeechFidelityThresholds, SpeechJudge
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.caller_account import ClaimedTurn
from orchestrator_assets.validation.evidence import CallerEvidence, CallerTrack
from orchestrator_assets.validation.turn_rating import (
    BEST_RATING,
    WORST_RATING,
    Hearing,
    RatedTurn,
    fidelity_score,
    tracks_to_hear,
)
from orchestrator_assets.validation.turn_sound import TrackSound, sound_on

VERSION = "2"

# Listeners want a little silence around speech; the caller's next turn is further away.
_MARGIN_SECONDS = 0.1
# What a recogniser slips on it rarely slips on again when the sound is a little slower or faster;
# what was said wrong is wrong at any speed. Of 420 spoken codes 33 were misheard, 21 so at every
# speed, and of 1260 wrong ones all were.
_OTHER_SPEEDS = (0.97, 1.03)


@dataclass(frozen=True, slots=True)
class MeantTurns:
    """The turns to listen to, each with the text that was meant; `left_out` can't be held to it."""

    turns: tuple[ClaimedTurn, ...]
    left_out: tuple[ClaimedTurn, ...]


def meant_turns(evidence: CallerEvidence, record: Record | None) -> MeantTurns:
    """Return what the caller meant: its record's script, or without a record its own words."""
    claims = evidence.turns
    if record is not None:
        claims = tuple(
            replace(claim, text=record.turns[claim.turn].say)
            for claim in claims
            if 0 <= claim.turn < len(record.turns)
        )
    left_out = tuple(turn for turn in claims if evidence.cut_off_by_the_end_of_the_call(turn))
    return MeantTurns(tuple(turn for turn in claims if turn not in left_out), left_out)


def score_speech_fidelity(
    record: Record | None,
    evidence: CallerEvidence,
    speech_to_text: SpeechToText,
    thresholds: SpeechFidelityThresholds,
) -> MetricScore:
    """Return the mean rating of the turns said (1 to 3); normalised, 0 to 1. Blocking.

    What was meant is the record's script, or without a record what the caller says it meant. A turn
    that was cut off by the end of the call is left out, and listed in `details.left_out`. Skipped
    if no turn is left. Raises SpeechEngineError if the engine fails.
    """
    meant = meant_turns(evidence, record)
    turns = [_rate(turn, evidence, speech_to_text, thresholds) for turn in meant.turns]
    return fidelity_score(
        turns,
        left_out=meant.left_out,
        judged_by=SpeechJudge.RECOGNISER.value,
        version=VERSION,
    )


def speaks_as_meant(score: MetricScore) -> bool:
    """Tell whether the score passes: no turn is rated 1."""
    return WORST_RATING not in score.details.get("per_turn_ratings", {}).values()


def measure(
    turn: ClaimedTurn, evidence: CallerEvidence, thresholds: SpeechFidelityThresholds
) -> tuple[tuple[TrackSound, ...], tuple[str, ...]]:
    """Return a turn's sound on both tracks, and what is wrong with it, in a line each."""
    sounds = tuple(sound_on(track, turn) for track in evidence.tracks)
    return sounds, tuple(fault for sound in sounds for fault in sound.faults(thresholds))


def sound_to_hear(turn: ClaimedTurn, track: CallerTrack, sample_rate_hz: int) -> Samples:
    """Return a turn's span of a track with a margin, at the rate a listener wants."""
    return resample(track.sound_of(turn, _MARGIN_SECONDS), track.sample_rate_hz, sample_rate_hz)


def _rate(
    turn: ClaimedTurn,
    evidence: CallerEvidence,
    speech_to_text: SpeechToText,
    thresholds: SpeechFidelityThresholds,
) -> RatedTurn:
    sounds, faults = measure(turn, evidence, thresholds)
    hearings = tuple(
        _hear(turn, track, speech_to_text, thresholds) for track in tracks_to_hear(turn, evidence)
    )
    return RatedTurn(turn, hearings, sounds, faults)


def _hear(
    turn: ClaimedTurn,
    track: CallerTrack,
    speech_to_text: SpeechToText,
    thresholds: SpeechFidelityThresholds,
) -> Hearing:
    """Listen once; where that is not as meant, again at other speeds, and believe what is."""
    rate = speech_to_text.sample_rate_hz
    sound = sound_to_hear(turn, track, rate)
    first = _listen(turn, track, sound, speech_to_text, thresholds)
    if first.rating > WORST_RATING or not sound.size:
        return first
    for speed in _OTHER_SPEEDS:
        played = resample(sound, round(rate * speed), rate)
        again = _listen(turn, track, played, speech_to_text, thresholds)
        if again.rating > WORST_RATING:
            comment = f"{again.comment} at {speed:.0%} of its speed; first {first.heard!r}"
            return replace(again, comment=comment)
    return first


def _listen(
    turn: ClaimedTurn,
    track: CallerTrack,
    sound: Samples,
    speech_to_text: SpeechToText,
    thresholds: SpeechFidelityThresholds,
) -> Hearing:
    heard = speech_to_text.transcribe(sound) if sound.size else ""
    error_rate = character_error_rate(turn.text, heard)
    missing = missing_details(turn.text, heard)
    if missing or error_rate > thresholds.rating_2:
        rating = WORST_RATING
    else:
        rating = BEST_RATING if error_rate <= thresholds.rating_3 else 2
    return Hearing(
        track.file_name,
        heard,
        rating,
        missing,
        comment=f"CER {error_rate:.2f}",
        character_error_rate=round(error_rate, 4),
    )
