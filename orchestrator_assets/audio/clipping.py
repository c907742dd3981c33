"""Finds audio that was too loud for what carried it: its peaks are cut off flat.

Cut at full scale, that is plain to see. Audio that was clipped first and made quieter afterwards
has its flat tops at a lower level, its own peak. Speech that was not clipped touches its peak in
single samples, not in runs: of 1400 tracks of synthesised calls, at 8 and 16 kHz, none had a single
run of three. Audio that was resampled after the clipping has no flat tops any more, and can't be
told from loud speech.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.findings import Stretch
from orchestrator_assets.audio.runs import Runs, joined, runs_of
from orchestrator_assets.audio.samples import Samples

_FULL_SCALE_LEVEL = 32_100
"""Mu-law's loudest sample is 32124, PCM16's 32767."""
_SHORTEST_RUN = 3
_LOWEST_FLAT_TOP = 3_300
"""-20 dBFS: speech at a usual level peaks higher."""
_SAME_LEVEL = 2
"""Rounding after a change of gain leaves the samples of a flat top this close."""
_FEWEST_FLAT_TOPS = 10
"""In a track, below full scale; a steady tone or a jingle may touch its peak a few times."""
_JOINED_SECONDS = 0.5
_SHORTEST_SECONDS = 0.5
_FEWEST_RUNS = 5
_AUDIBLE_SHARE = 0.002
"""A peak may touch full scale now and then; at a multiple of a thousandth it is heard."""


@dataclass(frozen=True, slots=True)
class ClippedStretch(Stretch):
    """A stretch with audible clipping; `share` of its samples are clipped."""

    share: float


@dataclass(frozen=True, slots=True)
class Clipping:
    """What of a track is clipped: the share of all its samples, and where it is audible."""

    share: float
    stretches: tuple[ClippedStretch, ...]


def clipped_samples(samples: Samples) -> int:
    """Return how many samples lie in runs of at least three at full scale."""
    return _length(runs_of(np.abs(samples.astype(np.int32)) >= _FULL_SCALE_LEVEL, _SHORTEST_RUN))


def clipping_of(samples: Samples, sample_rate_hz: int) -> Clipping:
    """Return what of a track is clipped, at full scale or below.

    A stretch is audibly clipped if it has at least five flat tops and a fifth of a percent of it,
    or of half a second where it is shorter, is clipped. Stretches less than half a second apart are
    one.
    """
    runs = np.concatenate((_flat_tops(samples, 1), _flat_tops(samples, -1)))
    if len(runs) == 0:
        return Clipping(0.0, ())
    runs = runs[np.argsort(runs[:, 0])]
    stretches = _stretches(runs, sample_rate_hz)
    return Clipping(_length(runs) / samples.size, tuple(stretches))


def _flat_tops(samples: Samples, polarity: int) -> Runs:
    """Return the runs of three and more samples at full scale, else at the polarity's own peak."""
    peak = int(samples.max(initial=0)) if polarity > 0 else -int(samples.min(initial=0))
    if peak < _LOWEST_FLAT_TOP:
        return runs_of(np.zeros(0, dtype=np.bool_))
    level = min(_FULL_SCALE_LEVEL, peak - _SAME_LEVEL)
    tops = runs_of(_beyond(samples, polarity, level), _SHORTEST_RUN)
    if peak < _FULL_SCALE_LEVEL and len(tops) < _FEWEST_FLAT_TOPS:
        return tops[:0]
    return tops


def _beyond(samples: Samples, polarity: int, level: int) -> NDArray[np.bool_]:
    return samples >= level if polarity > 0 else samples <= -level


def _stretches(runs: Runs, sample_rate_hz: int) -> list[ClippedStretch]:
    clipped = np.concatenate(([0], np.cumsum(runs[:, 1] - runs[:, 0])))
    stretches = []
    for start, end in joined(runs, _JOINED_SECONDS * sample_rate_hz):
        first, last = np.searchsorted(runs[:, 0], (start, end))
        weighed = max(int(end - start), round(_SHORTEST_SECONDS * sample_rate_hz))
        share = int(clipped[last] - clipped[first]) / weighed
        if last - first >= _FEWEST_RUNS and share >= _AUDIBLE_SHARE:
            first_second, last_second = float(start) / sample_rate_hz, float(end) / sample_rate_hz
            stretches.append(ClippedStretch(first_second, last_second, share))
    return stretches


def _length(runs: Runs) -> int:
    return int((runs[:, 1] - runs[:, 0]).sum())
