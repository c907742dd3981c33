"""Runs of something in an array: where they start, where they end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Runs = NDArray[np.int64]
"""Shape (n, 2): index of the first element of each run, and index after its last."""


def runs_of(flags: NDArray[np.bool_], shortest: int = 1) -> Runs:
    """Return the runs of True that are at least `shortest` elements long, in order."""
    padded = np.zeros(flags.size + 2, dtype=np.int8)
    padded[1:-1] = flags
    found: Runs = np.flatnonzero(np.diff(padded)).reshape(-1, 2)
    return found[found[:, 1] - found[:, 0] >= shortest]


def joined(runs: Runs, largest_gap: float) -> Runs:
    """Return the runs with those made one that have at most `largest_gap` elements between them."""
    if len(runs) == 0:
        return runs
    apart = np.flatnonzero(runs[1:, 0] - runs[:-1, 1] > largest_gap)
    starts = runs[np.concatenate(([0], apart + 1)), 0]
    ends = runs[np.concatenate((apart, [len(runs) - 1])), 1]
    return np.stack((starts, ends), axis=1)
