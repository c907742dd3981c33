"""What the validation metrics judge by: the caller's own account, and the recordings beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    CLEAN_CALLER_AUDIO_FILE,
    EVENTS_FILE,
    EndReason,
)
from orchestrator_assets.call.conversation_files import read_events, read_track
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.evaluation import Caller
from orchestrator_assets.validation.caller_account import ClaimedTurn, claimed_turns, ended_reason
from orchestrator_assets.validation.heard_agent import HeardAgent, hear_agent

# The last frames of a call may miss from a track whose writer was killed.
_AT_THE_END_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class CallerTrack:
    """One recording of the caller. `file_name` is how people know it."""

    file_name: str
    samples: Samples
    sample_rate_hz: int

    @property
    def duration_seconds(self) -> float:
        """How long it is; every track is as long as the call."""
        return self.samples.size / self.sample_rate_hz

    def sound_of(self, turn: ClaimedTurn, margin_seconds: float = 0.0) -> Samples:
        """Return the turn's span of the track, with a margin on both sides."""
        start = max(0.0, turn.start_seconds - margin_seconds)
        end = turn.end_seconds + margin_seconds
        first, last = (round(moment * self.sample_rate_hz) for moment in (start, end))
        return self.samples[first:last]


@dataclass(frozen=True, slots=True)
class CallerEvidence:
    """The turns the caller says it spoke, what is recorded of it, and what it could hear.

    `clean` is what it said, `line` what the agent was sent of that. `settings` are those it called
    by.
    """

    ended_reason: str | None
    turns: tuple[ClaimedTurn, ...]
    clean: CallerTrack
    line: CallerTrack
    agent: HeardAgent
    settings: Caller

    @property
    def tracks(self) -> tuple[CallerTrack, CallerTrack]:
        """Both recordings of the caller."""
        return self.clean, self.line

    @property
    def duration_seconds(self) -> float:
        """How long the call lasted."""
        return self.clean.duration_seconds

    def cut_off_by_the_end_of_the_call(self, turn: ClaimedTurn) -> bool:
        """Tell whether something other than the caller ended the call while it spoke the turn."""
        return turn.cut_off and self.ended_by_others_at(turn.end_seconds)

    def ended_by_others_at(self, moment_seconds: float) -> bool:
        """Tell whether the call ended at this moment, and by something other than the caller."""
        at_the_end = moment_seconds >= self.duration_seconds - _AT_THE_END_SECONDS
        return at_the_end and self.ended_reason != EndReason.GOODBYE


def read_evidence(
    directory: Path,
    caller: Caller | None = None,
    *,
    turns: Sequence[ClaimedTurn] | None = None,
) -> CallerEvidence:
    """Read the evidence of a call that was placed with the settings of `caller`. Blocking.

    `turns` are what the caller says it said; if absent, it had a script, and its events say so.
    Raises ConversationFileError for what is not usable.
    """
    settings = Caller() if caller is None else caller
    events = read_events(directory)
    if turns is None:
        try:
            turns = claimed_turns(events)
        except ValueError as error:
            raise ConversationFileError(directory / EVENTS_FILE, str(error)) from error
    clean, line = (
        read_caller_track(directory, name) for name in (CLEAN_CALLER_AUDIO_FILE, CALLER_AUDIO_FILE)
    )
    agent, agent_sample_rate_hz = read_track(directory, AGENT_AUDIO_FILE)
    return CallerEvidence(
        ended_reason=ended_reason(events),
        turns=tuple(turns),
        clean=clean,
        line=line,
        agent=hear_agent(agent, agent_sample_rate_hz, settings.end_of_turn_seconds),
        settings=settings,
    )


def read_caller_track(directory: Path, name: str) -> CallerTrack:
    """Read one recording of the caller. Raises ConversationFileError for what is not usable."""
    return CallerTrack(name, *read_track(directory, name))
