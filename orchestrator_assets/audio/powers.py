"""Power and offset of every block of a track, in memory that does not grow with its length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.samples import FULL_SCALE, Samples

_CHUNK_SAMPLES = 1 << 19


@dataclass(frozen=True, slots=True)
class Powers:
    """Of each block, full scale 1.0: the mean square without its mean (`sound`), and the mean."""

    sound: NDArray[np.float32]
    offset: NDArray[np.float32]


def powers_of(samples: Samples, block: int) -> Powers:
    """Return the powers of all whole blocks of `block` samples."""
    count = samples.size // block
    sound = np.empty(count, dtype=np.float32)
    offset = np.empty(count, dtype=np.float32)
    step = max(1, _CHUNK_SAMPLES // block)
    for first in range(0, count, step):
        last = min(first + step, count)
        blocks = samples[first * block : last * block].astype(np.float32).reshape(-1, block)
        blocks /= np.float32(FULL_SCALE)
        offset[first:last] = blocks.mean(axis=1)
        # Taken off first: a large offset would drown a faint sound in rounding errors.
        blocks -= offset[first:last, np.newaxis]
        sound[first:last] = np.einsum("ij,ij->i", blocks, blocks) / np.float32(block)
    return Powers(sound, offset)


def block_of(seconds: float, sample_rate_hz: int) -> int:
    """Return how many samples a block of some seconds has, at least one."""
    return max(1, round(seconds * sample_rate_hz))
