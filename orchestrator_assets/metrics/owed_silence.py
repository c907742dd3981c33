"""Silence in which the agent owes the caller an answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.metrics.talk import Talk


class BrokenBy(StrEnum):
    """What ended a silence."""

    AGENT = "agent"
    CALLER = "caller"
    END_OF_CALL = "end_of_call"


@dataclass(frozen=True, slots=True)
class OwedSilence:
    """The silence after a turn of the caller (index from 0), in seconds of the call."""

    turn: int
    start_seconds: float
    end_seconds: float
    broken_by: BrokenBy

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return round(self.end_seconds - self.start_seconds, 3)


def owed_silences(talk: Talk, end_reason: EndReason | None) -> list[OwedSilence]:
    """Return the silences after the caller's turns, in order; a turn answered at once has none.

    An agent that the caller barged in on owes an answer once it falls silent. A caller that hangs
    up with a goodbye waited for none: the silence before is not owed.
    """
    found = [_silence(talk, index) for index in range(len(talk.caller_turns))]
    return [
        silence
        for silence in found
        if silence is not None
        and not (silence.broken_by is BrokenBy.END_OF_CALL and end_reason is EndReason.GOODBYE)
    ]


def _silence(talk: Talk, index: int) -> OwedSilence | None:
    turn = talk.caller_turns[index]
    start = _begin(talk, turn)
    if start is None:
        return None
    sounds = (speech.start_seconds for speech in talk.agent_stretches)
    ends = {BrokenBy.END_OF_CALL: talk.duration_seconds}
    if (answer := next((sound for sound in sounds if sound >= start), None)) is not None:
        ends[BrokenBy.AGENT] = answer
    if index + 1 < len(talk.caller_turns):
        ends[BrokenBy.CALLER] = talk.caller_turns[index + 1].start_seconds
    broken_by = min(ends, key=lambda by: ends[by])
    if ends[broken_by] <= start:
        return None
    return OwedSilence(index, round(start, 3), round(ends[broken_by], 3), broken_by)


def _begin(talk: Talk, turn: SpeechRegion) -> float | None:
    """Return when the silence after a turn begins; None if the agent is answering already."""
    for speech in talk.agent_turns:
        if speech.start_seconds < turn.end_seconds < speech.end_seconds:
            return speech.end_seconds if speech.start_seconds < turn.start_seconds else None
    return turn.end_seconds
