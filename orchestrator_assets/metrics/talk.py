"""Who has the floor, by the sound of both sides alone.

What is measured is told apart as in the study of conversation: a *turn* claims the floor; a
*back-channel* ("mm-hm", "okay") lies inside the other's turn and does not. No words are needed for
it, only times, so a one-word "stop" that the other talks over counts as a back-channel too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.metrics.regions import joined

# The caller's pauses between sentences are shorter; its next turn waits for the agent.
_CALLER_PAUSE_SECONDS = 0.8
# An agent pauses as long between the sentences of one reply.
_AGENT_PAUSE_SECONDS = 0.7
# One spoken word lasts 0.45 to 0.6 s, so does "I see"; "no, wait" and "hold on" last longer.
_BACKCHANNEL_SECONDS = 0.65


@dataclass(frozen=True, slots=True)
class Talk:
    """The speech of a call. All regions are in order; seconds count from the start of the call.

    Stretches are sound without pauses of more than 0.3 s; turns are made of them, pauses included.
    The agent's pause is no part of its turn where a turn of the caller begins or ends in it.
    """

    caller_stretches: tuple[SpeechRegion, ...]
    agent_stretches: tuple[SpeechRegion, ...]
    caller_turns: tuple[SpeechRegion, ...]
    agent_turns: tuple[SpeechRegion, ...]
    caller_backchannels: tuple[SpeechRegion, ...]
    agent_backchannels: tuple[SpeechRegion, ...]
    duration_seconds: float
    """How long the recording of the call is."""

    @property
    def silent_side(self) -> str | None:
        """What to say where a side never spoke, the caller first; None if both did."""
        if not self.caller_stretches:
            return "the caller never spoke"
        return None if self.agent_stretches else "the agent never spoke"


def talk_of(
    caller: Sequence[SpeechRegion],
    agent: Sequence[SpeechRegion],
    duration_seconds: float,
    *,
    caller_turn_starts: Iterable[float] = (),
) -> Talk:
    """Return the talk that stretches of speech make up.

    `caller_turn_starts`: where turns of the caller are known to begin (seconds); it may barge in
    sooner after its last turn than it pauses inside one.
    """
    caller_turns = joined(caller, _CALLER_PAUSE_SECONDS, apart=caller_turn_starts)
    edges = [
        edge
        for turn in caller_turns
        if not _is_short(turn)
        for edge in (turn.start_seconds, turn.end_seconds)
    ]
    agent_turns = joined(agent, _AGENT_PAUSE_SECONDS, apart=edges)
    of_agent = [each for each in agent_turns if _is_backchannel(each, caller_turns)]
    floor = [each for each in agent_turns if each not in of_agent]
    of_caller = [each for each in caller_turns if _is_backchannel(each, floor)]
    return Talk(
        caller_stretches=tuple(caller),
        agent_stretches=tuple(agent),
        caller_turns=tuple(turn for turn in caller_turns if turn not in of_caller),
        agent_turns=tuple(floor),
        caller_backchannels=tuple(of_caller),
        agent_backchannels=tuple(of_agent),
        duration_seconds=duration_seconds,
    )


def _is_short(region: SpeechRegion) -> bool:
    return region.duration_seconds <= _BACKCHANNEL_SECONDS


def _is_backchannel(region: SpeechRegion, others: Iterable[SpeechRegion]) -> bool:
    return _is_short(region) and any(
        other.start_seconds < region.start_seconds and region.end_seconds < other.end_seconds
        for other in others
    )
