"""pass@k and pass^k of a record from how many of its trials passed.

With c of n trials passed, and k of them drawn without putting any back:

- pass@k, at least one of the k has passed: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, §2.1);
- pass^k observed, all k have passed: C(c, k) / C(n, k) (Yao et al. 2024, §5);
- pass^k theoretical, k independent trials at the rate observed would all pass: (c/n)^k.

None of them is defined for n < k.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]


class PassRates(NamedTuple):
    """The rates for one k, in the shape of the counts; NaN where there are fewer than k trials."""

    k: int
    pass_at_k: Floats
    pass_power_k_observed: Floats
    pass_power_k_theoretical: Floats


def pass_rates(passed: Counts, trials: Counts, most: int) -> Iterator[PassRates]:
    """Yield the rates for every k from 1 to `most`."""
    none_passes = np.ones(trials.shape)
    all_pass = np.ones(trials.shape)
    rate = np.divide(passed, trials, out=np.full(trials.shape, np.nan), where=trials > 0)
    for k in range(1, most + 1):
        # C(c, k) / C(n, k) is the product of (c - i) / (n - i) for i below k.
        drawn = k - 1
        enough = trials >= k
        left = np.where(enough, trials - drawn, 1)
        none_passes = none_passes * np.maximum(trials - passed - drawn, 0) / left
        all_pass = all_pass * np.maximum(passed - drawn, 0) / left
        yield PassRates(
            k,
            np.where(enough, 1 - none_passes, np.nan),
            np.where(enough, all_pass, np.nan),
            np.where(enough, rate**k, np.nan),
        )
