"""Computes the metrics of one accepted conversation, side by side, in threads."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable
from pathlib import Path

from orchestrator_assets.metrics.base import Metric, MetricScore
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.registry import create_metrics
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.records import Task

_logger = logging.getLogger(__name__)


class MetricsComputation:
    """Computes the named metrics, and beside them `extra_metrics` that are not registered."""

    def __init__(self, names: Iterable[str], *, extra_metrics: Iterable[Metric] = ()) -> None:
        """Raises ValueError for a name there is no metric of."""
        self._metrics = [*create_metrics(names), *extra_metrics]

    async def compute(self, task: Task, directory: Path) -> dict[str, MetricScore]:
        """Return the scores by name, after merging them into the directory's `metrics.json`.

        An exception in one metric becomes that metric's errored score, and touches no other.
        Raises OSError if the scores can't be written.
        """
        conversation = Conversation(task, directory)
        scores = await asyncio.gather(
            *(asyncio.to_thread(_compute, metric, conversation) for metric in self._metrics)
        )
        by_name = {score.name: score for score in scores}
        if by_name:
            await asyncio.to_thread(merge_scores, directory, task.id, by_name)
        return by_name


def _compute(metric: Metric, conversation: Conversation) -> MetricScore:
    try:
        score = metric.compute(conversation)
        for value in (score.score, score.normalized_score):
            if value is not None and not math.isfinite(value):
                raise ValueError(f"the score is {value}")
        # A score that is no JSON would otherwise cost the other metrics their place in the file.
        score.model_dump(mode="json")
    except Exception as error:
        _logger.warning("%s of %s failed", metric.name, conversation.task.id, exc_info=True)
        score = MetricScore(name=metric.name, error=f"{type(error).__name__}: {error}")
    return score.model_copy(update={"name": metric.name, "version": metric.code_version})
