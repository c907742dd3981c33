"""Confidence intervals of means over records, by resampling whole records.

The trials of a record resemble each other, so records are what is drawn, and a record that is drawn
brings the values of all metrics along. The draws are seeded by the ids of the records alone: the
same records give the same interval wherever the run lies, whatever it is called, in whatever order
its tasks are, and scoring one metric again moves no other metric's interval.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from orchestrator_assets.metrics.pass_at_k import Floats

RESAMPLES = 2_000
CONFIDENCE = 0.95
_DRAWN_AT_ONCE = 1_000_000
_DECIMALS = 9
"""Sums differ in the last digits from one processor to the next; intervals should not."""


class Interval(NamedTuple):
    """The bounds between which the middle 95 % of the resampled means lie."""

    lower: float
    upper: float


def mean_intervals(record_ids: Sequence[str], columns: Floats) -> list[Interval | None]:
    """Return the percentile bootstrap interval of the mean of each column (Efron & Tibshirani §13).

    `columns` has a row for each record, in the order of the ids, which must be sorted; NaN stands
    for a value that is not there, and counts in no mean. With fewer than two values there is
    nothing to resample: None.
    """
    present = ~np.isnan(columns)
    enough = np.flatnonzero(present.sum(axis=0) >= 2)
    intervals: list[Interval | None] = [None] * columns.shape[1]
    if enough.size:
        bounds = _bounds(_resampled_means(record_ids, columns[:, enough]))
        for index, (lower, upper) in zip(enough, bounds.T, strict=True):
            intervals[index] = Interval(
                round(float(lower), _DECIMALS), round(float(upper), _DECIMALS)
            )
    return intervals


def _bounds(means: Floats) -> Floats:
    tail = (1 - CONFIDENCE) / 2
    # A resample may have drawn none of the records that have a value of some column.
    percentile = np.nanquantile if np.isnan(means).any() else np.quantile
    bounds: Floats = percentile(means, (tail, 1 - tail), axis=0)
    return bounds


def _resampled_means(record_ids: Sequence[str], columns: Floats) -> Floats:
    present = ~np.isnan(columns)
    values = np.where(present, columns, 0.0)
    # Most columns lack values in the same records, or in none.
    masks, mask_of = np.unique(present, axis=1, return_inverse=True)
    weighted = np.hstack([values, masks])
    means = []
    for weights in _weights(record_ids):
        sums = weights @ weighted
        counts = sums[:, values.shape[1] :][:, mask_of.reshape(-1)]
        totals = sums[:, : values.shape[1]]
        means.append(np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0))
    return np.vstack(means)


def _weights(record_ids: Sequence[str]) -> Iterator[Floats]:
    """Yield how often each record was drawn: a row a resample, some rows at a time."""
    count = len(record_ids)
    generator = np.random.default_rng(_seed(record_ids))
    at_once = max(1, _DRAWN_AT_ONCE // count)
    for first in range(0, RESAMPLES, at_once):
        rows = min(at_once, RESAMPLES - first)
        drawn = generator.integers(count, size=(rows, count), dtype=np.int32)
        drawn += np.arange(rows, dtype=np.int32)[:, np.newaxis] * count
        weights = np.bincount(drawn.reshape(-1), minlength=rows * count)
        yield weights.reshape(rows, count).astype(np.float64)


def _seed(record_ids: Sequence[str]) -> int:
    text = json.dumps(list(record_ids), ensure_ascii=False)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")
