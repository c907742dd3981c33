"""One recorded side of a call, and what was measured in it."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_assets.audio.clipping import Clipping, clipping_of
from orchestrator_assets.audio.findings import Side
from orchestrator_assets.audio.levels import (
    SILENCE_DBFS,
    Levels,
    QuietStretch,
    levels_of,
    quiet_stretches,
)
from orchestrator_assets.audio.samples import Samples, resample
from orchestrator_assets.audio.voice_activity import SAMPLE_RATE_HZ, SpeechRegion, speech_regions

QUIETEST_DBFS = -45.0
"""Speech below is too quiet: 20 dB below a telephone's usual level."""


@dataclass(frozen=True, slots=True)
class Track:
    """One side of the call: its samples and what was measured in them.

    `voiced` is where it holds speech, pauses of 20 ms and more left out.
    """

    samples: Samples
    sample_rate_hz: int
    voiced: tuple[SpeechRegion, ...]
    levels: Levels
    clipping: Clipping
    quiet: tuple[QuietStretch, ...]

    @property
    def duration_seconds(self) -> float:
        """How long the track is."""
        return self.samples.size / self.sample_rate_hz

    @property
    def voiced_seconds(self) -> float:
        """For how long there is speech in it."""
        return sum(region.duration_seconds for region in self.voiced)

    @property
    def is_silent(self) -> bool:
        """Whether nothing in it is louder than -60 dBFS."""
        return self.levels.peak_dbfs is None or self.levels.peak_dbfs < SILENCE_DBFS

    def numbers(self, side: Side) -> dict[str, float | None]:
        """Return what was measured by name, the side's first; None where there is nothing."""
        levels = self.levels
        return {
            f"{side}_duration_seconds": self.duration_seconds,
            f"{side}_voiced_seconds": self.voiced_seconds,
            f"{side}_speech_dbfs": levels.speech_dbfs,
            f"{side}_peak_dbfs": levels.peak_dbfs,
            f"{side}_noise_floor_dbfs": levels.noise_floor_dbfs,
            f"{side}_dc_offset": levels.dc_offset,
            f"{side}_silence_ratio": levels.silence_ratio,
            f"{side}_clipped_share": self.clipping.share,
        }


def measured_track(samples: Samples, sample_rate_hz: int) -> Track:
    """Measure a track, at any sample rate from 4 kHz up."""
    line = resample(samples, sample_rate_hz, SAMPLE_RATE_HZ)
    voiced = tuple(speech_regions(line, merge_gap_seconds=0.0))
    return Track(
        samples=samples,
        sample_rate_hz=sample_rate_hz,
        voiced=voiced,
        levels=levels_of(samples, sample_rate_hz, voiced),
        clipping=clipping_of(samples, sample_rate_hz),
        quiet=tuple(quiet_stretches(samples, sample_rate_hz, QUIETEST_DBFS)),
    )
