"""pass@k and pass^k of single records."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from orchestrator_assets.metrics.pass_at_k import PassRates, pass_rates


def rates(passed: int, trials: int, most: int) -> list[PassRates]:
    return list(pass_rates(np.array([passed]), np.array([trials]), most))


def test_the_values_worked_out_by_hand() -> None:
    # Two of four trials passed; of the six pairs, one has two passes and one has none.
    one, two, three, four = rates(2, 4, 4)

    assert (one.k, two.k) == (1, 2)
    assert one.pass_at_k[0] == one.pass_power_k_observed[0] == 0.5
    assert two.pass_at_k[0] == pytest.approx(5 / 6)
    assert two.pass_power_k_observed[0] == pytest.approx(1 / 6)
    assert two.pass_power_k_theoretical[0] == pytest.approx(1 / 4)
    assert (three.pass_at_k[0], three.pass_power_k_observed[0]) == (1.0, 0.0)
    assert four.pass_power_k_theoretical[0] == pytest.approx(1 / 16)


@pytest.mark.parametrize("trials", [1, 2, 5, 7])
def test_they_are_the_shares_of_all_ways_to_draw_k_trials(trials: int) -> None:
    for passed in range(trials + 1):
        outcomes = [True] * passed + [False] * (trials - passed)
        for found in rates(passed, trials, trials):
            draws = list(combinations(outcomes, found.k))
            assert found.pass_at_k[0] == pytest.approx(sum(map(any, draws)) / len(draws))
            assert found.pass_power_k_observed[0] == pytest.approx(
                sum(map(all, draws)) / len(draws)
            )


def test_k_never_shrinks_to_the_trials_there_are() -> None:
    one, two, three = rates(1, 1, 3)

    assert one.pass_at_k[0] == 1.0
    for undefined in (two, three):
        assert all(np.isnan(rate[0]) for rate in undefined[1:])


def test_no_trial_has_no_rate_and_disturbs_no_other_record() -> None:
    [found] = pass_rates(np.array([0, 3]), np.array([0, 3]), 1)

    assert np.isnan(found.pass_at_k[0])
    assert [rate[1] for rate in found[1:]] == [1.0, 1.0, 1.0]
