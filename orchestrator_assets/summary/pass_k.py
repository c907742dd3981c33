"""pass@k and pass^k over the records of a data set, for every k up to the number of trials.

k never shrinks. A record counts for a k only if at least k of its trials have a score; how many do
not, and which, stands beside the rates. Leaving them out flatters an agent whose trials fail for
reasons of its own, so there are two policies: over the records that have the scores (EVA's), and
`strict`, over all of them, in which a trial that failed, errored, is missing, unjudged or pending
has not passed. A skipped trial counts in neither: the metric has nothing to say of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from orchestrator_assets.metrics.pass_at_k import Counts, Floats, PassRates, pass_rates
from orchestrator_assets.summary.bootstrap import Interval
from orchestrator_assets.summary.score_table import RecordTable

RATES = ("pass_at_k", "pass_power_k_observed", "pass_power_k_theoretical")
"""The rates of one k, by EVA's names."""
WITH_INTERVAL = ("pass_at_1", "pass_at_k", "pass_power_k_observed")


class PassTable(NamedTuple):
    """The rates of each record by both policies, an item for each k from 1 on.

    The arrays have a row a record, and a column for each of `names`, which have a threshold.
    """

    names: tuple[str, ...]
    records: RecordTable
    columns: tuple[int, ...]
    lenient: tuple[PassRates, ...]
    strict: tuple[PassRates, ...]

    @property
    def k(self) -> int:
        """The number of trials."""
        return len(self.lenient)

    def resampled_columns(self) -> Floats:
        """Return what intervals are wanted of: for each name in turn, the rates WITH_INTERVAL."""
        most = self.lenient[-1]
        rates = [self.lenient[0].pass_at_k, most.pass_at_k, most.pass_power_k_observed]
        shape = len(self.records.record_ids), len(self.names) * len(WITH_INTERVAL)
        stacked: Floats = np.stack(rates, axis=-1).reshape(shape)
        return stacked


def pass_table(records: RecordTable, trials: int, thresholds: Mapping[str, float]) -> PassTable:
    """Return the rates for k from 1 to `trials`, of the names that have a threshold."""
    columns = [index for index, name in enumerate(records.names) if name in thresholds]
    passed = records.passed[:, columns]

    def rates(of: Counts) -> tuple[PassRates, ...]:
        return tuple(pass_rates(passed, of[:, columns], trials))

    return PassTable(
        names=tuple(records.names[index] for index in columns),
        records=records,
        columns=tuple(columns),
        lenient=rates(records.scored),
        strict=rates(records.applicable),
    )


def pass_k(
    table: PassTable, thresholds: Mapping[str, float], intervals: Sequence[Interval | None]
) -> dict[str, dict[str, Any]]:
    """Return what the summary says of each name; `intervals` are those of `resampled_columns`."""
    width = len(WITH_INTERVAL)
    return {
        name: _of_name(
            table, column, thresholds[name], intervals[column * width : (column + 1) * width]
        )
        for column, name in enumerate(table.names)
    }


def few_accepted(table: PassTable) -> dict[str, int]:
    """Return the records with fewer accepted trials than k, and how many they have."""
    accepted = table.records.accepted
    rows = np.flatnonzero(accepted < table.k)
    return {table.records.record_ids[row]: int(accepted[row]) for row in rows}


def _of_name(
    table: PassTable, column: int, threshold: float, intervals: Sequence[Interval | None]
) -> dict[str, Any]:
    by_k = [_row(rates, column) for rates in table.lenient]
    strict = [_row(rates, column) for rates in table.strict]
    bounds: dict[str, float | None] = {}
    for name, interval in zip(WITH_INTERVAL, intervals, strict=True):
        bounds[f"{name}_ci_lower"] = None if interval is None else interval.lower
        bounds[f"{name}_ci_upper"] = None if interval is None else interval.upper
    return {
        "threshold": threshold,
        "pass_at_1": by_k[0]["pass_at_k"],
        "pass_at_1_count": by_k[0]["count"],
        **by_k[-1],
        **bounds,
        "total_records": len(table.records.record_ids),
        "too_few_trials_count": by_k[-1]["too_few_trials_count"],
        "too_few_scored_trials": _few_scored(table, column),
        "by_k": by_k,
        "strict": {
            "pass_at_1": strict[0]["pass_at_k"],
            "pass_at_1_count": strict[0]["count"],
            **strict[-1],
            "by_k": strict,
        },
    }


def _row(rates: PassRates, column: int) -> dict[str, Any]:
    values = {name: getattr(rates, name)[:, column] for name in RATES}
    counted = ~np.isnan(values["pass_at_k"])
    count = int(counted.sum())
    means = {name: float(each[counted].mean()) if count else None for name, each in values.items()}
    return {"k": rates.k, "count": count, "too_few_trials_count": len(counted) - count, **means}


def _few_scored(table: PassTable, column: int) -> dict[str, int]:
    """Return the records that lack scores of accepted trials, and so have fewer than k.

    Those that have too few accepted trials are the same for every metric: see `few_accepted`.
    """
    scored = table.records.scored[:, table.columns[column]]
    rows = np.flatnonzero((scored < table.k) & (scored < table.records.accepted))
    return {table.records.record_ids[row]: int(scored[row]) for row in rows}
