"""What the caller says, held against its script: words, entities, order, and what is audible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from orchestrator_assets.audio.samples import resample, rms_dbfs
from orchestrator_assets.audio.voice_activity import (
    SAMPLE_RATE_HZ,
    SpeechRegion,
    speech_regions,
)
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.speech.comparison import missing_details
from orchestrator_assets.records import Record
from orchestrator_assets.validation.caller_account import ClaimedTurn
from orchestrator_assets.validation.complaint import Complaint, Rule
from orchestrator_assets.validation.evidence import CallerEvidence, CallerTrack

_AUDIBLE_DBFS = -75.0
"""Mu-law's smallest step is -72 dBFS. What is louder was said, if too quietly; that is a fault of
speech, not of behaviour."""
# The detector holds on for a little after speech, and a click is no speech.
_AROUND_A_TURN_SECONDS = 0.2
_SHORTEST_SPEECH_SECONDS = 0.2


def wrong_turns(record: Record, evidence: CallerEvidence) -> Iterator[Complaint]:
    """Yield turns the script does not have, and turns with other words or entities than its."""
    for claim in evidence.turns:
        if not 0 <= claim.turn < len(record.turns):
            yield _about(
                claim,
                Rule.UNKNOWN_TURN,
                f"the caller spoke turn {claim.turn}, which its script does not have",
            )
            continue
        scripted = record.turns[claim.turn].say
        if claim.text.split() != scripted.split():
            yield _wrong_words(claim, scripted)


def inaudible_turns(evidence: CallerEvidence) -> Iterator[Complaint]:
    """Yield turns of which a recording of the caller has no sound."""
    for claim in evidence.turns:
        # One that was cut off may have been so before its first sound.
        if claim.cut_off:
            continue
        for track in evidence.tracks:
            if level_dbfs(claim, track) <= _AUDIBLE_DBFS:
                span = f"{claim.start_seconds:.2f} to {claim.end_seconds:.2f} s"
                yield _about(
                    claim,
                    Rule.INAUDIBLE,
                    f"turn {claim.turn} is claimed from {span}, "
                    f"but {track.file_name} is silent there",
                )


def wrong_order(evidence: CallerEvidence) -> Iterator[Complaint]:
    """Yield turns that were said more than once, or after one that comes later in the script."""
    for turn, times in Counter(claim.turn for claim in evidence.turns).items():
        if times > 1:
            last = [claim for claim in evidence.turns if claim.turn == turn][-1]
            yield _about(last, Rule.REPEATED, f"turn {turn} was said {times} times")
    for earlier, later in pairwise(evidence.turns):
        if later.turn < earlier.turn:
            yield _about(
                later,
                Rule.OUT_OF_ORDER,
                f"turn {later.turn} was said after turn {earlier.turn}",
            )


def left_out(record: Record, evidence: CallerEvidence) -> Iterator[Complaint]:
    """Yield turns that were due and not said in full.

    All are due where the caller hung up by goodbye, else those before the last that was said.
    """
    claims = {claim.turn: claim for claim in evidence.turns}
    said = {turn for turn, claim in claims.items() if not claim.cut_off}
    if evidence.ended_reason == EndReason.GOODBYE:
        due = len(record.turns)
    else:
        due = min(max(said, default=-1) + 1, len(record.turns))
    for turn in range(due):
        if turn in said:
            continue
        if turn in claims:
            yield _about(claims[turn], Rule.CUT_OFF, f"turn {turn} was cut off")
        elif turn > max(claims, default=-1):
            yield Complaint(
                Rule.HUNG_UP_EARLY,
                f"the caller hung up before turn {turn}",
                evidence.duration_seconds,
                turn=turn,
            )
            return
        else:
            yield Complaint(Rule.LEFT_OUT, f"turn {turn} was left out", turn=turn)


def unclaimed_speech(evidence: CallerEvidence) -> Iterator[Complaint]:
    """Yield where a recording has speech of the caller that none of its turns accounts for."""
    for track in evidence.tracks:
        for start, end in _unclaimed(track, evidence):
            # What was being spoken when someone else ended the call may not have been noted.
            if end - start < _SHORTEST_SPEECH_SECONDS or evidence.ended_by_others_at(end):
                continue
            yield Complaint(
                Rule.UNCLAIMED_SPEECH,
                f"{track.file_name} has speech from {start:.2f} to {end:.2f} s "
                "that is none of the caller's turns",
                start,
                end,
            )


def level_dbfs(claim: ClaimedTurn, track: CallerTrack) -> float:
    """Return the level of a turn's span, pauses included; silence is -inf."""
    return rms_dbfs(track.sound_of(claim))


def _wrong_words(claim: ClaimedTurn, scripted: str) -> Complaint:
    said_instead = missing_details(claim.text, scripted)
    not_said = missing_details(scripted, claim.text)
    reason = f"turn {claim.turn} was {claim.text!r}, but its script says {scripted!r}"
    if not not_said and not said_instead:
        return _about(claim, Rule.WRONG_WORDS, reason)
    entities = []
    if not_said:
        entities.append(f"not said: {', '.join(not_said)}")
    if said_instead:
        entities.append(f"said instead: {', '.join(said_instead)}")
    return _about(claim, Rule.WRONG_ENTITY, f"{reason} ({'; '.join(entities)})")


def _unclaimed(track: CallerTrack, evidence: CallerEvidence) -> Iterator[tuple[float, float]]:
    """Yield (start, end) in seconds of what is left of the track's speech without the turns."""
    at_detector_rate = resample(track.samples, track.sample_rate_hz, SAMPLE_RATE_HZ)
    for region in speech_regions(at_detector_rate, merge_gap_seconds=0.0):
        yield from _without_turns(region, evidence.turns)


def _without_turns(
    region: SpeechRegion, turns: tuple[ClaimedTurn, ...]
) -> Iterator[tuple[float, float]]:
    start = region.start_seconds
    for turn in turns:
        turn_start = turn.start_seconds - _AROUND_A_TURN_SECONDS
        turn_end = turn.end_seconds + _AROUND_A_TURN_SECONDS
        if turn_end <= start or turn_start >= region.end_seconds:
            continue
        if turn_start > start:
            yield start, turn_start
        start = max(start, turn_end)
    if start < region.end_seconds:
        yield start, region.end_seconds


def _about(claim: ClaimedTurn, rule: Rule, reason: str) -> Complaint:
    return Complaint(rule, reason, claim.start_seconds, claim.end_seconds, claim.turn)
