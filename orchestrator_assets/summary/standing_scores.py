"""How the scores of conversations stand: which of them another version of the code gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.registry import code_versions, create_metrics
from orchestrator_assets.metrics.selection import StaleScore, stale_scores
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.bare_scores import read_bare_scores


def standing_scores(directory: Path) -> dict[str, MetricScore]:
    """Return the scores of a conversation, without their evidence; none if they can't be read.

    What can't be read is computed again.
    """
    try:
        return read_bare_scores(directory)
    except ConversationFileError:
        return {}


def count_stale_scores(
    run_directory: RunDirectory, tasks: Iterable[Task], metric_names: Iterable[str]
) -> dict[StaleScore, int]:
    """Return on how many of the tasks' conversations each score is of another version."""
    versions = code_versions(create_metrics(metric_names))
    return dict(
        Counter(
            score
            for task in tasks
            for score in stale_scores(versions, standing_scores(run_directory.task_directory(task)))
        )
    )
