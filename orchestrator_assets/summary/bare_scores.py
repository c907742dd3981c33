"""Scores without the details of their evidence, which are most of them: quick to read, and small.

With 10,000 tasks, details take seconds to read and hundreds of megabytes to keep.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from orchestrator_assets.call.conversation import METRICS_FILE
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import read_scores


class BareScore(MetricScore):
    """A score whose `details` are skipped by the JSON parser, under a name they never have."""

    details: dict[str, Any] = Field(default_factory=dict, alias="(left out)")


class _BareScores(BaseModel):
    metrics: dict[str, BareScore]


def read_bare_scores(directory: Path) -> dict[str, MetricScore]:
    """Return the scores in the directory's `metrics.json`, by name; none if there is no such file.

    Raises ConversationFileError for a damaged file.
    """
    try:
        content = (directory / METRICS_FILE).read_bytes()
        return dict(_BareScores.model_validate_json(content).metrics)
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError):
        # That tells what is wrong with it, and takes some JSON that this parser refuses.
        return read_scores(directory)
