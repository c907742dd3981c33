"""What the caller could hear of the agent, from the agent's recording.

A caller is to be judged by what it could know. So its own ears are put to the recording once more:
the same detector, and the same level below which it takes no sound for an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.samples import Samples, resample
from orchestrator_assets.audio.voice_activity import (
    FRAME_SAMPLES,
    FRAME_SECONDS,
    SAMPLE_RATE_HZ,
    SpeechRegion,
    TurnDetector,
    speech_regions,
)

_AUDIBLE_PEAK = 500
"""Of 32768; the scripted caller takes nothing more quiet for an answer."""


@dataclass(frozen=True, slots=True)
class HeardAgent:
    """When the agent spoke, in seconds from the start of the call.

    `speech` are its stretches of speech, `turns` the same with pauses left in that did not end a
    turn for the caller.
    """

    speech: tuple[SpeechRegion, ...]
    turns: tuple[SpeechRegion, ...]
    _audible: NDArray[np.bool_] = field(repr=False)

    def seconds_between(self, start_seconds: float, end_seconds: float) -> float:
        """Return for how long the agent was audible in a span of the call."""
        first, last = (max(0, round(at / FRAME_SECONDS)) for at in (start_seconds, end_seconds))
        return int(np.count_nonzero(self._audible[first:last])) * FRAME_SECONDS

    def last_audible_seconds(self) -> float:
        """Return when the agent was last audible; 0 if it never was."""
        frames = np.flatnonzero(self._audible)
        return (int(frames[-1]) + 1) * FRAME_SECONDS if frames.size else 0.0

    def last_speech_seconds(self) -> float:
        """Return when the agent's last speech ended, however quiet; 0 if it never spoke."""
        return self.speech[-1].end_seconds if self.speech else 0.0

    def speech_at(self, moment_seconds: float) -> SpeechRegion | None:
        """Return the stretch of speech the moment lies in."""
        return _around(self.speech, moment_seconds)

    def turn_begun_before(self, moment_seconds: float) -> SpeechRegion | None:
        """Return the agent's last turn that began before the moment, ended or not."""
        begun = [turn for turn in self.turns if turn.start_seconds <= moment_seconds]
        return begun[-1] if begun else None


def hear_agent(samples: Samples, sample_rate_hz: int, end_of_turn_seconds: float) -> HeardAgent:
    """Return what a caller hears on the agent's track for which a turn ends after so long."""
    track = resample(samples, sample_rate_hz, SAMPLE_RATE_HZ)
    count = track.size // FRAME_SAMPLES
    frames = track[: count * FRAME_SAMPLES].reshape(count, FRAME_SAMPLES)
    detector = TurnDetector(end_of_turn_seconds)
    speaking = np.zeros(count, dtype=np.bool_)
    for index, frame in enumerate(frames):
        detector.push(frame)
        speaking[index] = detector.speaking
    loud = np.abs(frames.astype(np.int32)).max(axis=1, initial=0) > _AUDIBLE_PEAK
    # A gap of exactly this length has ended the turn.
    longest_pause_seconds = max(0.0, end_of_turn_seconds - FRAME_SECONDS)
    return HeardAgent(
        speech=tuple(speech_regions(track)),
        turns=tuple(speech_regions(track, merge_gap_seconds=longest_pause_seconds)),
        _audible=speaking & loud,
    )


def _around(regions: tuple[SpeechRegion, ...], moment_seconds: float) -> SpeechRegion | None:
    for region in regions:
        if region.start_seconds <= moment_seconds < region.end_seconds:
            return region
    return None
