"""What the validation metrics judge by: the caller's own account, and the recordings beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator_assets.audio.samples import resample
from orchestrator_assets.audio.voice_activity import SAMPLE_RATE_HZ, SpeechRegion, speech_regions
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CLEAN_CALLER_AUDIO_FILE,
    EVENTS_FILE,
    EndReason,
)
from orchestrator_assets.call.conversation_files import read_events, read_track
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.validation.caller_account import ClaimedTurn, claimed_turns, ended_reason

# The last frames of a call may miss from a track whose writer was killed.
_AT_THE_END_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class CallerEvidence:
    """The turns the caller says it spoke, its clean track, and when the agent spoke."""

    ended_reason: str | None
    turns: tuple[ClaimedTurn, ...]
    clean: Samples
    clean_sample_rate_hz: int
    agent_speech: tuple[SpeechRegion, ...]

    @property
    def duration_seconds(self) -> float:
        """Length of the clean track, which is that of the call."""
        return self.clean.size / self.clean_sample_rate_hz

    def sound_of(self, turn: ClaimedTurn, margin_seconds: float = 0.0) -> Samples:
        """Return the turn's span of the clean track, with a margin on both sides."""
        start = max(0.0, turn.start_seconds - margin_seconds)
        end = turn.end_seconds + margin_seconds
        first, last = (round(moment * self.clean_sample_rate_hz) for moment in (start, end))
        return self.clean[first:last]

    def cut_off_by_the_end_of_the_call(self, turn: ClaimedTurn) -> bool:
        """Tell whether something other than the caller ended the call while it spoke the turn."""
        at_the_end = turn.end_seconds >= self.duration_seconds - _AT_THE_END_SECONDS
        return turn.cut_off and at_the_end and self.ended_reason != EndReason.GOODBYE

    def agent_speech_seconds_after(self, moment_seconds: float) -> float:
        """Return for how long the agent spoke after a moment of the call."""
        return sum(
            max(0.0, speech.end_seconds - max(speech.start_seconds, moment_seconds))
            for speech in self.agent_speech
        )


def read_evidence(directory: Path) -> CallerEvidence:
    """Read the evidence of a scripted call. Raises ConversationFileError for what is not usable."""
    events = read_events(directory)
    try:
        turns = tuple(claimed_turns(events))
    except ValueError as error:
        raise ConversationFileError(directory / EVENTS_FILE, str(error)) from error
    clean, clean_sample_rate_hz = read_track(directory, CLEAN_CALLER_AUDIO_FILE)
    agent, agent_sample_rate_hz = read_track(directory, AGENT_AUDIO_FILE)
    agent_speech = speech_regions(resample(agent, agent_sample_rate_hz, SAMPLE_RATE_HZ))
    return CallerEvidence(
        ended_reason=ended_reason(events),
        turns=turns,
        clean=clean,
        clean_sample_rate_hz=clean_sample_rate_hz,
        agent_speech=tuple(agent_speech),
    )
