"""How loud a track is: its speech, its peak, what lies between the speech, and the offset of all.

A level over the whole track would mostly tell how much of it is pause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.findings import Stretch
from orchestrator_assets.audio.powers import block_of, powers_of
from orchestrator_assets.audio.samples import FULL_SCALE, Samples, normalize, resample
from orchestrator_assets.audio.sounds import sounds_in
from orchestrator_assets.audio.voice_activity import (
    FRAME_SECONDS,
    SAMPLE_RATE_HZ,
    SpeechRegion,
    speech_regions,
)

SILENCE_DBFS = -60.0
"""Speech on the line peaks above -40 dBFS, mu-law idle noise below -70."""

_LOUD_PERCENTILE = 95
_BELOW_LOUD_DB = 25.0
"""Vowels are at most so much louder than consonants; what is below is pause and decay."""
_NOISE_PERCENTILE = 20
_AWAY_FROM_SPEECH_FRAMES = 10
"""Speech is not over where a detector stops to hear it."""
_FEWEST_NOISE_FRAMES = 10
_JOINED_SECONDS = 0.4
_SHORTEST_QUIET_SECONDS = 0.5
_USUAL_DBFS = -22.0
_SHARE_OF_SPEECH = 0.3


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels of a track in dBFS; None where there is nothing but digital silence to measure.

    `speech_dbfs` is the root mean square of speech alone, `noise_floor_dbfs` that of what lies
    between. `dc_offset` is what the track idles at, as a share of full scale; it is no part of the
    levels. `silence_ratio` is the share of 20 ms frames below -60 dBFS.
    """

    speech_dbfs: float | None
    peak_dbfs: float | None
    noise_floor_dbfs: float | None
    dc_offset: float
    silence_ratio: float


@dataclass(frozen=True, slots=True)
class QuietStretch(Stretch):
    """Speech that is too quiet, and its root mean square level."""

    speech_dbfs: float


def levels_of(samples: Samples, sample_rate_hz: int, speech: Sequence[SpeechRegion]) -> Levels:
    """Return the levels of a track that holds `speech`; where that is empty, of all its sound."""
    powers = powers_of(samples, block_of(FRAME_SECONDS, sample_rate_hz))
    power = powers.sound
    if power.size == 0:
        return Levels(None, None, None, 0.0, 1.0)
    offset = float(np.median(powers.offset))
    peak = max(samples.max() / FULL_SCALE - offset, offset - samples.min() / FULL_SCALE)
    spoken = _spoken_frames(speech, power.size)
    return Levels(
        speech_dbfs=_dbfs(_speech_power(power[spoken] if spoken.any() else power)),
        peak_dbfs=_dbfs(peak * peak),
        noise_floor_dbfs=_dbfs(_noise_power(power, spoken)),
        dc_offset=offset,
        silence_ratio=float(np.mean(power < 10 ** (SILENCE_DBFS / 10))),
    )


def speech_level_dbfs(samples: Samples, sample_rate_hz: int) -> float | None:
    """Return the root mean square level of the speech in `samples`; None where there is no sound.

    Measured in frames of 20 ms, of which those that are loud for these samples count.
    """
    powers = powers_of(samples, block_of(FRAME_SECONDS, sample_rate_hz))
    return _dbfs(_speech_power(powers.sound))


def quiet_stretches(
    samples: Samples, sample_rate_hz: int, quietest_dbfs: float
) -> list[QuietStretch]:
    """Return where somebody speaks, at least half a second, at a level below `quietest_dbfs`.

    A voice detector passes over what is too quiet, so that sound is looked for first, and then
    whether it is speech once it is amplified.
    """
    found = []
    for sound in sounds_in(samples, sample_rate_hz, joined_seconds=_JOINED_SECONDS):
        if sound.duration_seconds < _SHORTEST_QUIET_SECONDS:
            continue
        first, last = (
            round(at * sample_rate_hz) for at in (sound.start_seconds, sound.end_seconds)
        )
        piece = samples[first:last]
        level = speech_level_dbfs(piece, sample_rate_hz)
        if level is None or level >= quietest_dbfs or not _is_speech(piece, sample_rate_hz):
            continue
        found.append(QuietStretch(sound.start_seconds, sound.end_seconds, level))
    return found


def _is_speech(samples: Samples, sample_rate_hz: int) -> bool:
    loud = normalize(resample(samples, sample_rate_hz, SAMPLE_RATE_HZ), _USUAL_DBFS)
    spoken = sum(region.duration_seconds for region in speech_regions(loud))
    return spoken >= _SHARE_OF_SPEECH * loud.size / SAMPLE_RATE_HZ


def _noise_power(power: NDArray[np.float32], spoken: NDArray[np.bool_]) -> float:
    """Return the power that most of the frames between speech exceed; 0 where there are too few."""
    reach = np.ones(2 * _AWAY_FROM_SPEECH_FRAMES + 1)
    between = power[np.convolve(spoken, reach)[_AWAY_FROM_SPEECH_FRAMES:][: power.size] < 0.5]
    if between.size < _FEWEST_NOISE_FRAMES:
        return 0.0
    return float(np.percentile(between, _NOISE_PERCENTILE))


def _spoken_frames(speech: Sequence[SpeechRegion], count: int) -> NDArray[np.bool_]:
    spoken = np.zeros(count, dtype=np.bool_)
    for region in speech:
        first, last = (
            round(at / FRAME_SECONDS) for at in (region.start_seconds, region.end_seconds)
        )
        spoken[first:last] = True
    return spoken


def _speech_power(power: NDArray[np.float32]) -> float:
    """Return the mean power of the frames that are loud for these.

    So pauses make nobody quieter; and up to the 95th percentile, so a click makes nobody louder.
    """
    power = power[power > 0]
    if power.size == 0:
        return 0.0
    loud = float(np.percentile(power, _LOUD_PERCENTILE))
    heard = power[(power >= loud / 10 ** (_BELOW_LOUD_DB / 10)) & (power <= loud)]
    return float(np.mean(heard if heard.size else power))


def _dbfs(power: float) -> float | None:
    return 10 * float(np.log10(power)) if power > 0 else None
