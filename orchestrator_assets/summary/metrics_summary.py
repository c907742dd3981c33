"""`metrics_summary.json`: the metrics over all accepted conversations, in EVA's shape.

Only accepted conversations count, whenever it is written. Every mean stands beside the number of
scores it is the mean of, and the number of conversations there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.summary.score_value import score_value
from orchestrator_assets.summary.task_state import TaskState, TaskStatus


def metrics_summary(states: Sequence[TaskState]) -> dict[str, Any]:
    """Return means, extremes and gaps of every metric, on normalised scores (0 to 1)."""
    accepted = [state for state in states if state.status is TaskStatus.ACCEPTED]
    names = sorted({name for state in accepted for name in state.scores})
    by_metric = {name: [state.scores.get(name) for state in accepted] for name in names}
    per_metric = {name: _metric(scores) for name, scores in by_metric.items()}
    return {
        "total_records": len(accepted),
        "data_quality": _data_quality(list(zip(*by_metric.values(), strict=True)), per_metric),
        "per_metric": per_metric,
        "metric_errors": {
            name: _errors(name, accepted)
            for name, scores in by_metric.items()
            if any(_errored(score) for score in scores)
        },
    }


def _metric(scores: Sequence[MetricScore | None]) -> dict[str, Any]:
    values = [value for score in scores if (value := score_value(score)) is not None]
    return {
        "mean": sum(values) / len(values) if values else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "count": len(values),
        "none_count": _count(_none(score) for score in scores),
        "error_count": _count(_errored(score) for score in scores),
        "missing_count": _count(score is None for score in scores),
        "total_records": len(scores),
        "skipped_count": _count(score is not None and score.skipped for score in scores),
    }


def _data_quality(
    rows: Sequence[Sequence[MetricScore | None]], per_metric: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """`rows` are the scores of one conversation each."""
    return {
        "records_with_any_none": _count(any(map(_none, row)) for row in rows),
        "records_with_errors": _count(any(map(_errored, row)) for row in rows),
        "records_with_missing": _count(None in row for row in rows),
        "total_records": len(rows),
        "metrics_with_none_scores": _nonzero(per_metric, "none_count"),
        "metrics_with_errors": _nonzero(per_metric, "error_count"),
        "metrics_with_missing": _nonzero(per_metric, "missing_count"),
    }


def _errors(name: str, accepted: Sequence[TaskState]) -> dict[str, Any]:
    failed = [state.task.id for state in accepted if _errored(state.scores.get(name))]
    return {"failed_count": len(failed), "total_count": len(accepted), "failed_records": failed}


def _nonzero(per_metric: dict[str, dict[str, Any]], field: str) -> dict[str, int]:
    return {name: metric[field] for name, metric in per_metric.items() if metric[field]}


def _none(score: MetricScore | None) -> bool:
    """Tell whether the metric was computed without error, and yet gave no number."""
    return score is not None and score.error is None and score_value(score) is None


def _errored(score: MetricScore | None) -> bool:
    return score is not None and score.error is not None


def _count(facts: Iterable[bool]) -> int:
    return sum(1 for fact in facts if fact)
