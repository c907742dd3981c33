"""`metrics_summary.json`: metrics and composites over all tasks, EVA's keys and ours beside them.

Means are those of accepted conversations, whenever it is written. Every number stands beside the
number of scores it is made of, and what became of the rest: tasks that were not accepted, and
scores that are skipped, errored or missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from orchestrator_assets.metrics.pass_at_k import Floats
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.bootstrap import CONFIDENCE, RESAMPLES, Interval, mean_intervals
from orchestrator_assets.summary.judge_usage import judge_usage
from orchestrator_assets.summary.pass_k import few_accepted, pass_k, pass_table
from orchestrator_assets.summary.score_table import (
    Facts,
    RecordTable,
    ScoreTable,
    record_table,
    task_table,
)
from orchestrator_assets.summary.score_value import ScoreStanding
from orchestrator_assets.summary.task_state import TaskState, TaskStatus

_ACCEPTED = (
    ScoreStanding.SCORED,
    ScoreStanding.SKIPPED,
    ScoreStanding.ERRORED,
    ScoreStanding.MISSING,
)


def metrics_summary(
    states: Sequence[TaskState], aggregation: Aggregation | None = None
) -> dict[str, Any]:
    """Return the statistics of the tasks, on normalised scores (0 to 1) where there are any.

    `states` are those of all tasks of the evaluation; k is the number of trials they have.
    """
    aggregation = aggregation or Aggregation()
    statistics = _Statistics.of(states, aggregation)
    metrics = [name for name in statistics.table.names if name not in aggregation.composites]
    per_metric = {name: statistics.metric(name) for name in metrics}
    accepted = [state.status is TaskStatus.ACCEPTED for state in states]
    return {
        "total_records": sum(accepted),
        "total_tasks": len(states),
        "data_quality": _data_quality(statistics.table, accepted, per_metric),
        "overall_scores": statistics.overall_scores(list(aggregation.composites)),
        "per_metric": per_metric,
        "metric_errors": {
            name: _errors(states, statistics.table, name, sum(accepted))
            for name in metrics
            if per_metric[name]["error_count"]
        },
        "pass_at_k_config": statistics.pass_config,
        "confidence_intervals": {
            "method": "percentile bootstrap of means over records",
            "confidence": CONFIDENCE,
            "resamples": RESAMPLES,
        },
        "judge_usage": judge_usage(states),
    }


class _Statistics(NamedTuple):
    """Everything that is computed for all metrics and composites at once."""

    table: ScoreTable
    records: RecordTable
    thresholds: Mapping[str, float]
    intervals: Mapping[str, Interval | None]
    pass_k: Mapping[str, dict[str, Any]]
    pass_config: dict[str, Any]

    @classmethod
    def of(cls, states: Sequence[TaskState], aggregation: Aggregation) -> _Statistics:
        names = _names(states, aggregation)
        thresholds = {
            name: aggregation.pass_thresholds[name]
            for name in names
            if name in aggregation.pass_thresholds
        }
        table = task_table(states, names)
        records = record_table(states, table, thresholds)
        trials = max(Counter(state.task.record.id for state in states).values(), default=1)
        passes = pass_table(records, trials, thresholds)
        wanted = np.hstack([records.means, passes.resampled_columns()])
        intervals = mean_intervals(records.record_ids, wanted)
        return cls(
            table,
            records,
            thresholds,
            dict(zip(names, intervals, strict=False)),
            pass_k(passes, thresholds, intervals[len(names) :]),
            {
                "num_draws": trials,
                "per_metric_thresholds": thresholds,
                "exclude_metrics": [name for name in names if name not in thresholds],
                "too_few_accepted_trials": few_accepted(passes),
            },
        )

    def metric(self, name: str) -> dict[str, Any]:
        """Return what is said of a metric."""
        values = self._values(name)
        return {
            "mean": float(values.mean()) if values.size else None,
            "min": float(values.min()) if values.size else None,
            "max": float(values.max()) if values.size else None,
            **self._counts(name),
            **self._success(name),
            **({"pass_k": self.pass_k[name]} if name in self.pass_k else {}),
        }

    def overall_scores(self, composites: Sequence[str]) -> dict[str, Any]:
        """Return what is said of the composites."""
        scores: dict[str, Any] = {}
        for name in composites:
            values = self._values(name)
            mean = float(values.mean()) if values.size else None
            scores[name] = {"mean": mean, **self._counts(name), **self._success(name)}
        scores["pass_k"] = {name: self.pass_k[name] for name in composites if name in self.pass_k}
        return scores

    def _values(self, name: str) -> Floats:
        return _known(self.table.values[:, self.table.column(name)])

    def _counts(self, name: str) -> dict[str, Any]:
        table, column = self.table, self.table.column(name)
        counts, interval = table.counts(name), self.intervals[name]
        accepted = np.isin(table.standings[:, column], _ACCEPTED)
        means = _known(self.records.means[:, column])
        scored = counts[ScoreStanding.SCORED]
        normalised = scored > 0 and scored == _known(table.normalised[:, column]).size
        return {
            "count": scored,
            "none_count": int(table.has_none[accepted, column].sum()),
            "error_count": counts[ScoreStanding.ERRORED],
            "missing_count": int(table.absent[accepted, column].sum()),
            "total_records": int(accepted.sum()),
            "skipped_count": counts[ScoreStanding.SKIPPED],
            "mean_of_records": float(means.mean()) if means.size else None,
            "mean_ci_lower": None if interval is None else interval.lower,
            "mean_ci_upper": None if interval is None else interval.upper,
            "mean_ci_n_scenarios": int(means.size),
            # Of a raw score, such as seconds, nobody says so.
            "higher_is_better": True if normalised else None,
            "not_renewed_count": int(table.not_renewed[:, column].sum()),
            "tasks": {
                "total": len(table.standings),
                "accepted": int(accepted.sum()),
                **{each.name.lower(): counts[each] for each in ScoreStanding},
            },
        }

    def _success(self, name: str) -> dict[str, Any]:
        if name not in self.thresholds:
            return {}
        column = self.table.column(name)
        passed, scored, applicable = (
            int(counts[:, column].sum())
            for counts in (self.records.passed, self.records.scored, self.records.applicable)
        )
        return {
            "pass_threshold": self.thresholds[name],
            "passed_count": passed,
            "success_rate": passed / scored if scored else None,
            "success_rate_of": scored,
            "success_rate_strict": passed / applicable if applicable else None,
            "success_rate_strict_of": applicable,
        }


def _names(states: Sequence[TaskState], aggregation: Aggregation) -> list[str]:
    computed = {name for state in states for name in state.scores}
    metrics = computed.union(aggregation.metrics) - aggregation.composites.keys()
    return [*sorted(metrics), *sorted(aggregation.composites)]


def _data_quality(
    table: ScoreTable, accepted: Sequence[bool], per_metric: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return in how many conversations, and for which metrics, scores are lacking."""
    columns = np.array([table.column(name) for name in per_metric], dtype=np.intp)
    cells = np.ix_(np.flatnonzero(accepted), columns)
    return {
        "records_with_any_none": _rows(table.has_none[cells]),
        "records_with_errors": _rows(table.standings[cells] == ScoreStanding.ERRORED),
        "records_with_missing": _rows(table.absent[cells]),
        "total_records": sum(accepted),
        "metrics_with_none_scores": _nonzero(per_metric, "none_count"),
        "metrics_with_errors": _nonzero(per_metric, "error_count"),
        "metrics_with_missing": _nonzero(per_metric, "missing_count"),
    }


def _rows(facts: Facts) -> int:
    return int(facts.any(axis=1).sum())


def _errors(
    states: Sequence[TaskState], table: ScoreTable, name: str, accepted: int
) -> dict[str, Any]:
    standings = table.standings[:, table.column(name)]
    failed = [
        state.task.id
        for state, standing in zip(states, standings, strict=True)
        if standing == ScoreStanding.ERRORED
    ]
    return {"failed_count": len(failed), "total_count": accepted, "failed_records": failed}


def _nonzero(per_metric: Mapping[str, dict[str, Any]], field: str) -> dict[str, int]:
    return {name: metric[field] for name, metric in per_metric.items() if metric[field]}


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]
