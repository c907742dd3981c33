"""A finished conversation on disk, read once for all metrics that look at it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator_assets.audio.samples import resample
from orchestrator_assets.audio.voice_activity import SAMPLE_RATE_HZ, SpeechRegion, speech_regions
from orchestrator_assets.call.call_report import CallReport, read_call_report
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    FINAL_STATE_FILE,
    RESULT_FILE,
    TRANSCRIPT_FILE,
    ConversationResult,
    EndReason,
    Event,
    TranscriptRow,
)
from orchestrator_assets.call.conversation_files import (
    read_events,
    read_final_state,
    read_initial_state,
    read_result,
    read_track,
    read_transcript,
)
from orchestrator_assets.call.eva_call_report import read_eva_call_report
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.base import Need
from orchestrator_assets.metrics.speech_edges import sharpen
from orchestrator_assets.metrics.talk import Talk, talk_of
from orchestrator_assets.records import Task

_PAUSE_SECONDS = 0.3


class Conversation:
    """What a call left in `directory`, and the task it was made for.

    Everything is read when it is first asked for, and kept. Readers raise ConversationFileError
    for a file that is missing or damaged.
    """

    def __init__(self, task: Task, directory: Path) -> None:
        self.task = task
        self.directory = directory

    @cached_property
    def result(self) -> ConversationResult:
        """How the call went."""
        return read_result(self.directory, task_id=self.task.id)

    @cached_property
    def transcript(self) -> Sequence[TranscriptRow]:
        """Both sides' words, by time; the agent's are what a recogniser heard."""
        return read_transcript(self.directory)

    @cached_property
    def events(self) -> Sequence[Event]:
        """The caller's events."""
        return read_events(self.directory)

    @cached_property
    def initial_state(self) -> dict[str, Any] | None:
        """The agent's state before the call, if it was given."""
        return read_initial_state(self.directory)

    @cached_property
    def final_state(self) -> dict[str, Any] | None:
        """The agent's state after the call, if it was given."""
        return read_final_state(self.directory)

    @cached_property
    def call_report(self) -> CallReport | None:
        """What the agent reported of the call, if it did; of EVA's calls, what its files tell."""
        return read_call_report(self.directory) or read_eva_call_report(self.directory)

    @cached_property
    def caller_track(self) -> Samples:
        """The caller's recording at 8 kHz; the sample at index i was heard at i / 8000 s."""
        return self._track(CALLER_AUDIO_FILE)

    @cached_property
    def agent_track(self) -> Samples:
        """The agent's recording at 8 kHz, on the same time line."""
        return self._track(AGENT_AUDIO_FILE)

    @property
    def duration_seconds(self) -> float:
        """How long the recording of the call is."""
        return max(self.caller_track.size, self.agent_track.size) / SAMPLE_RATE_HZ

    @property
    def caller_speech(self) -> Sequence[SpeechRegion]:
        """Where the caller speaks: a region a turn, edges to 5 ms. Back-channels are no turns."""
        return self.talk.caller_turns

    @property
    def agent_speech(self) -> Sequence[SpeechRegion]:
        """Where the agent speaks: pauses of more than 0.3 s part regions, edges to 5 ms."""
        return self.talk.agent_stretches

    @cached_property
    def talk(self) -> Talk:
        """Who has the floor when, by the recordings of both sides."""
        return talk_of(
            _stretches(self.caller_track),
            _stretches(self.agent_track),
            self.duration_seconds,
            caller_turn_starts=self._logged_turn_starts(),
        )

    @property
    def end_reason(self) -> EndReason | None:
        """Why the call ended; None where there is no result."""
        return self.result.conversation_ended_reason if self._has(RESULT_FILE) else None

    def lacks(self, need: Need) -> str | None:
        """Return why a metric with this need can't be computed here; None if it can."""
        match need:
            case Need.AUDIO if not self._has(CALLER_AUDIO_FILE, AGENT_AUDIO_FILE):
                return "there is no recording of both sides"
            case Need.TRANSCRIPT if not self._has(TRANSCRIPT_FILE):
                return "there is no transcript"
            case Need.STATE if not self._has(FINAL_STATE_FILE):
                return "the agent gave no final state (agent.call_report_url)"
            case Need.TOOL_CALLS if self.call_report is None or self.call_report.tool_calls is None:
                return "the agent gave no log of its tool calls (agent.call_report_url)"
            case Need.AGENT_TEXT if self.call_report is None or not self.call_report.agent_texts:
                return "the agent gave no text of its own (agent.call_report_url)"
            case _:
                return None

    def _logged_turn_starts(self) -> list[float]:
        """Return where the caller's log says that its turns began; nothing without such a log."""
        try:
            events = self.events
        except ConversationFileError:
            return []
        turns = [event.get("data") for event in events if event.get("type") == "user_speech"]
        starts = [turn.get("start_seconds") for turn in turns if isinstance(turn, dict)]
        return [start for start in starts if isinstance(start, int | float)]

    def _has(self, *names: str) -> bool:
        return all((self.directory / name).is_file() for name in names)

    def _track(self, name: str) -> Samples:
        samples, sample_rate_hz = read_track(self.directory, name)
        return resample(samples, sample_rate_hz, SAMPLE_RATE_HZ)


def _stretches(samples: Samples) -> list[SpeechRegion]:
    return sharpen(speech_regions(samples, merge_gap_seconds=_PAUSE_SECONDS), samples)
