"""Moves the edges of speech regions to where the sound really begins and ends.

WebRTC's detector holds on for some 100 ms after speech and may miss a soft onset, which is the size
of what a latency metric measures. Between the regions it finds, energy alone is the better witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.samples import FULL_SCALE
from orchestrator_assets.audio.voice_activity import SAMPLE_RATE_HZ, SpeechRegion
from orchestrator_assets.call.speech.base import Samples

_STEP_SECONDS = 0.005
_REACH_SECONDS = 0.2
# Speech begins and fades over about this range: the onset of "th" lies so far below a vowel.
_BELOW_LEVEL_DB = 52.0
# Below it mu-law has nothing left but its smallest step.
_FLOOR_DBFS = -80.0
# Below it mu-law has nothing left at all: it is digital silence, no noise to be measured.
_NOISE_FROM_DBFS = -90.0
_LEAST_NOISE_SECONDS = 0.5
# Stationary noise hardly ever rises this far above what nine tenths of it stay below.
_NOISE_PERCENTILE = 90
_ABOVE_NOISE_DB = 4.0
_SILENCE_DBFS = -200.0


def sharpen(regions: Sequence[SpeechRegion], samples: Samples) -> list[SpeechRegion]:
    """Return the regions of an 8 kHz track with their edges where its energy rises and falls.

    An edge moves outwards by at most 0.2 s, and never into the next region. A region in which
    nothing stands out of the track's noise is no speech and left out: the detector takes noise at
    the start of a track for speech. Edges are multiples of 5 ms.
    """
    levels = _levels_dbfs(samples)
    if not regions or levels.size == 0:
        return []
    noise = _noise_threshold_dbfs(regions, levels)
    speech_levels = [_speech_level_dbfs(region, levels) for region in regions]
    middles = [(left.end_seconds + right.start_seconds) / 2 for left, right in pairwise(regions)]
    bounds = pairwise([0.0, *middles, levels.size * _STEP_SECONDS])
    return [
        _sharpened(region, levels, max(level - _BELOW_LEVEL_DB, noise), bound)
        for region, level, bound in zip(regions, speech_levels, bounds, strict=True)
        if level > noise
    ]


def _sharpened(
    region: SpeechRegion,
    levels: NDArray[np.floating[Any]],
    threshold_dbfs: float,
    bound_seconds: tuple[float, float],
) -> SpeechRegion:
    first = _step(max(region.start_seconds - _REACH_SECONDS, bound_seconds[0]))
    last = _step(min(region.end_seconds + _REACH_SECONDS, bound_seconds[1]))
    loud = np.flatnonzero(levels[first:last] >= threshold_dbfs)
    return SpeechRegion(
        (first + int(loud[0])) * _STEP_SECONDS, (first + int(loud[-1]) + 1) * _STEP_SECONDS
    )


def _noise_threshold_dbfs(
    regions: Sequence[SpeechRegion], levels: NDArray[np.floating[Any]]
) -> float:
    """Return the level above which sound is no noise, by what is heard away from all regions."""
    away = levels > _NOISE_FROM_DBFS
    for region in regions:
        first = max(0, _step(region.start_seconds - _REACH_SECONDS))
        away[first : _step(region.end_seconds + _REACH_SECONDS)] = False
    background = levels[away]
    if background.size < _step(_LEAST_NOISE_SECONDS):
        return _FLOOR_DBFS
    noise = float(np.percentile(background, _NOISE_PERCENTILE)) + _ABOVE_NOISE_DB
    return max(noise, _FLOOR_DBFS)


def _speech_level_dbfs(region: SpeechRegion, levels: NDArray[np.floating[Any]]) -> float:
    """Return the level that a tenth of the region exceeds."""
    inside = levels[_step(region.start_seconds) : _step(region.end_seconds)]
    return float(np.percentile(inside, 90)) if inside.size else _SILENCE_DBFS


def _levels_dbfs(samples: Samples) -> NDArray[np.floating[Any]]:
    """Return the RMS level of every 5 ms."""
    step = round(_STEP_SECONDS * SAMPLE_RATE_HZ)
    whole = samples[: samples.size // step * step].astype(np.float64).reshape(-1, step)
    power = np.mean(np.square(whole / FULL_SCALE), axis=1)
    levels: NDArray[np.floating[Any]] = 10 * np.log10(np.maximum(power, 10 ** (_SILENCE_DBFS / 10)))
    return levels


def _step(seconds: float) -> int:
    return round(seconds / _STEP_SECONDS)
