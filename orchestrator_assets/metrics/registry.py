"""The metrics an evaluation may name."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchestrator_assets.metrics.base import Metric
from orchestrator_assets.metrics.response_latency import ResponseLatency
from orchestrator_assets.metrics.task_completion import TaskCompletion

_METRICS: dict[str, Callable[[], Metric]] = {
    TaskCompletion.name: TaskCompletion,
    ResponseLatency.name: ResponseLatency,
}


def metric_names() -> list[str]:
    """Return the names of all metrics, sorted."""
    return sorted(_METRICS)


def create_metrics(names: Iterable[str]) -> list[Metric]:
    """Return the named metrics, in that order. Raises ValueError for an unknown name."""
    metrics = []
    for name in names:
        if name not in _METRICS:
            raise ValueError(f"there is no metric {name!r}; known: {', '.join(metric_names())}")
        metrics.append(_METRICS[name]())
    return metrics
