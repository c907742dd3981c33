"""Where one side begins to speak while the other has the floor, and what comes of it.

Two moments are nobody's fault. Who begins within 0.2 s of the other could not know: nobody reacts
faster to speech. And who begins in the last 0.3 s of a turn foresaw its end; between humans, half
of the overlaps at a change of turns are longer than 0.2 s (Levinson and Torreira 2015, "Timing in
turn-taking and its implications for processing models of language").
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.metrics.regions import EDGE_SECONDS, holds, overlaps, total_seconds
from orchestrator_assets.metrics.talk import Talk

REACTION_SECONDS = 0.2
TURN_END_SECONDS = 0.3
YIELD_SECONDS = 2.0
"""An agent that talks on for so long does not yield (EVA's curve is at 0 there)."""

# The edges of both sides may be off. On the media clock, agents fall silent within 0.06 s.
_SHORTEST_OVERLAP_SECONDS = 2 * EDGE_SECONDS


@dataclass(frozen=True, slots=True)
class AgentInterruption:
    """The agent begins to speak in the middle of a turn of the caller.

    `in_pause`: while the caller paused, so the agent took a pause for the turn's end.
    `overlap_seconds`: for how long both then speak, in that turn.
    """

    turn: int
    turn_start_seconds: float
    turn_end_seconds: float
    at_seconds: float
    until_seconds: float
    in_pause: bool
    overlap_seconds: float


@dataclass(frozen=True, slots=True)
class BargeIn:
    """The caller begins a turn while the agent speaks.

    `seconds`: for how long the agent talks on. `yielded`: None where the call ended before it was
    clear. `collision`: both began within 0.2 s, so nobody interrupted; who goes on is not polite.
    """

    turn: int
    at_seconds: float
    agent_since_seconds: float
    agent_silent_seconds: float
    seconds: float
    yielded: bool | None
    collision: bool


def agent_interruptions(talk: Talk) -> list[AgentInterruption]:
    """Return where the agent interrupts the caller, in order."""
    return [
        _agent_interruption(talk, index, turn, speech)
        for index, turn in enumerate(talk.caller_turns)
        for speech in talk.agent_turns
        if turn.start_seconds + REACTION_SECONDS
        <= speech.start_seconds
        < turn.end_seconds - TURN_END_SECONDS
    ]


def _agent_interruption(
    talk: Talk, index: int, turn: SpeechRegion, speech: SpeechRegion
) -> AgentInterruption:
    both = overlaps(
        overlaps([turn], talk.caller_stretches), overlaps([speech], talk.agent_stretches)
    )
    return AgentInterruption(
        turn=index,
        turn_start_seconds=round(turn.start_seconds, 3),
        turn_end_seconds=round(turn.end_seconds, 3),
        at_seconds=round(speech.start_seconds, 3),
        until_seconds=round(speech.end_seconds, 3),
        in_pause=not any(holds(each, speech.start_seconds) for each in talk.caller_stretches),
        overlap_seconds=round(total_seconds(both), 3),
    )


def barge_ins(talk: Talk) -> list[BargeIn]:
    """Return where the caller barges in on the agent, and collisions, in order."""
    return [
        _barge_in(talk, index, turn, speech)
        for index, turn in enumerate(talk.caller_turns)
        for speech in talk.agent_turns
        if speech.start_seconds < turn.start_seconds + REACTION_SECONDS
        and turn.start_seconds < speech.end_seconds - _SHORTEST_OVERLAP_SECONDS
    ]


def _barge_in(talk: Talk, index: int, turn: SpeechRegion, speech: SpeechRegion) -> BargeIn:
    apart = turn.start_seconds - speech.start_seconds
    both_speak = max(turn.start_seconds, speech.start_seconds)
    seconds = round(speech.end_seconds - both_speak, 3)
    yielded: bool | None = seconds < YIELD_SECONDS
    if yielded and speech.end_seconds >= talk.duration_seconds - EDGE_SECONDS:
        yielded = None
    return BargeIn(
        turn=index,
        at_seconds=round(turn.start_seconds, 3),
        agent_since_seconds=round(speech.start_seconds, 3),
        agent_silent_seconds=round(speech.end_seconds, 3),
        seconds=seconds,
        yielded=yielded,
        collision=abs(apart) < REACTION_SECONDS,
    )


def yield_score(seconds: float) -> float:
    """Return EVA's score of talking on for so long after a barge-in: 1 at 0 s, 0 from 2 s."""
    return max(0.0, 1 - seconds / YIELD_SECONDS)
