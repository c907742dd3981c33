"""Arithmetic on PCM16 samples: sample rate, level, sum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

Samples = NDArray[np.int16]
"""Mono PCM16 samples."""

FULL_SCALE = 32768.0


def to_pcm16(audio: NDArray[np.floating[Any]]) -> Samples:
    """Return floating-point `audio` (full scale 1.0) rounded to PCM16; what is louder saturates."""
    samples: Samples = np.clip(np.rint(audio * FULL_SCALE), -32768, 32767).astype(np.int16)
    return samples


def resample(samples: Samples, from_hz: int, to_hz: int) -> Samples:
    """Return `samples` taken at `from_hz` as they would have been taken at `to_hz`.

    Without dither: the same samples come out every time, and digital silence stays silent.
    """
    if from_hz == to_hz or samples.size == 0:
        return samples
    return to_pcm16(soxr.resample(samples.astype(np.float32) / FULL_SCALE, from_hz, to_hz))


def rms_dbfs(samples: Samples) -> float:
    """Return the root mean square level in dBFS: a full square wave is 0, silence -inf."""
    if samples.size == 0:
        return -math.inf
    rms = math.sqrt(float(np.mean(np.square(samples, dtype=np.float64)))) / FULL_SCALE
    return 20 * math.log10(rms) if rms > 0 else -math.inf


def normalize(samples: Samples, level_dbfs: float) -> Samples:
    """Return `samples` at a root mean square level of `level_dbfs`; peaks saturate.

    Silence has no level to raise and is returned as it is.
    """
    present = rms_dbfs(samples)
    if math.isinf(present):
        return samples
    gain = 10 ** ((level_dbfs - present) / 20)
    return to_pcm16(samples.astype(np.float64) * (gain / FULL_SCALE))


def mix(first: Samples, second: Samples) -> Samples:
    """Return the sum of both tracks, as long as the longer one; sums out of range saturate."""
    longer, shorter = sorted((first, second), key=len, reverse=True)
    total = longer.astype(np.int32)
    total[: shorter.size] += shorter
    mixed: Samples = np.clip(total, -32768, 32767).astype(np.int16)
    return mixed
