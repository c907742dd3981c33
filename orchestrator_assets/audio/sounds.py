"""Where a track holds sound of any kind, however quiet, to 5 ms."""

from __future__ import annotations

import numpy as np

from orchestrator_assets.audio.findings import Stretch
from orchestrator_assets.audio.powers import block_of, powers_of
from orchestrator_assets.audio.runs import joined, runs_of
from orchestrator_assets.audio.samples import Samples

_STEP_SECONDS = 0.005
_FAINTEST_DBFS = -75.0
"""Mu-law idle noise."""
_ABOVE_NOISE_DB = 10.0
_NOISE_PERCENTILE = 10


def sounds_in(samples: Samples, sample_rate_hz: int, *, joined_seconds: float) -> list[Stretch]:
    """Return the stretches louder than the track's noise, in order.

    Those with at most `joined_seconds` of silence between them are one. What is quieter than
    -75 dBFS is no sound, nor is a constant offset.
    """
    block = block_of(_STEP_SECONDS, sample_rate_hz)
    power = powers_of(samples, block).sound
    if power.size == 0:
        return []
    noise = float(np.percentile(power, _NOISE_PERCENTILE)) * 10 ** (_ABOVE_NOISE_DB / 10)
    runs = runs_of(power > max(noise, 10 ** (_FAINTEST_DBFS / 10)))
    step_seconds = block / sample_rate_hz
    return [
        Stretch(float(start) * step_seconds, float(end) * step_seconds)
        for start, end in joined(runs, joined_seconds / step_seconds)
    ]
