"""Confidence intervals by record."""

from __future__ import annotations

import math

import numpy as np
import pytest

from orchestrator_assets.metrics.pass_at_k import Floats
from orchestrator_assets.summary import bootstrap
from orchestrator_assets.summary.bootstrap import RESAMPLES, Interval, mean_intervals


def ids(count: int, prefix: str = "Müller ") -> list[str]:
    return [f"{prefix}{number:05}" for number in range(count)]


def column(*values: float) -> Floats:
    return np.array(values, dtype=float).reshape(-1, 1)


def naive_interval(record_ids: list[str], values: list[float]) -> Interval:
    """Draws the same records, and takes the means one by one."""
    means = []
    for weights in bootstrap._weights(record_ids):
        for row in weights.astype(int):
            drawn = [value for value, times in zip(values, row, strict=True) for _ in range(times)]
            known = [value for value in drawn if not math.isnan(value)]
            if known:
                means.append(math.fsum(known) / len(known))
    means.sort()

    def quantile(share: float) -> float:
        at = share * (len(means) - 1)
        below = math.floor(at)
        above = min(below + 1, len(means) - 1)
        return means[below] + (means[above] - means[below]) * (at - below)

    return Interval(quantile(0.025), quantile(0.975))


@pytest.mark.parametrize("lacking", [(), (0, 3), tuple(range(10))])
def test_it_is_that_of_a_naive_implementation(lacking: tuple[int, ...]) -> None:
    values = list(np.random.default_rng(1).random(12))
    for row in lacking:
        values[row] = math.nan

    [interval] = mean_intervals(ids(12), column(*values))

    assert interval == pytest.approx(naive_interval(ids(12), values))


def test_every_resample_draws_as_many_records_as_there_are() -> None:
    weights = np.vstack(list(bootstrap._weights(ids(7))))

    assert weights.shape == (RESAMPLES, 7)
    assert set(weights.sum(axis=1)) == {7.0}
    assert weights.mean() == pytest.approx(1.0)
    assert weights.std(axis=0).min() > 0.5


def test_many_records_are_drawn_in_parts_without_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(2).random((40, 3))
    at_once = mean_intervals(ids(40), values)
    monkeypatch.setattr(bootstrap, "_DRAWN_AT_ONCE", 40 * 7)

    assert mean_intervals(ids(40), values) == at_once


def test_columns_do_not_disturb_each_other() -> None:
    values = np.random.default_rng(3).random((20, 4))
    values[values < 0.2] = math.nan

    together = mean_intervals(ids(20), values)

    for index in range(4):
        assert mean_intervals(ids(20), values[:, [index]]) == [together[index]]


def test_other_records_are_drawn_otherwise_and_the_same_ones_the_same() -> None:
    values = column(*np.random.default_rng(4).random(30))

    assert mean_intervals(ids(30), values) == mean_intervals(ids(30), values)
    assert mean_intervals(ids(30), values) != mean_intervals(ids(30, "x"), values)


def test_one_record_or_none_has_no_interval() -> None:
    assert mean_intervals(["a"], column(0.5)) == [None]
    assert mean_intervals([], np.empty((0, 2))) == [None, None]
    two = np.array([[0.5, math.nan], [math.nan, 1.0], [math.nan, math.nan]])
    assert mean_intervals(ids(3), two) == [None, None]


def test_equal_values_leave_no_room() -> None:
    assert mean_intervals(ids(5), column(*[0.7] * 5)) == [Interval(0.7, 0.7)]


def test_it_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(5)
    # Four hundred data sets of 60 records, side by side: the columns share draws, not values.
    truth = 0.7
    values = generator.binomial(3, truth, size=(60, 400)) / 3

    intervals = mean_intervals(ids(60), values)

    covered = [each is not None and each.lower <= truth <= each.upper for each in intervals]
    assert 0.90 <= np.mean(covered) <= 0.98
    widths = [each.upper - each.lower for each in intervals if each is not None]
    assert np.mean(widths) == pytest.approx(2 * 1.96 * math.sqrt(0.7 * 0.3 / 3 / 60), rel=0.1)
