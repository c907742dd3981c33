"""What a metric is: a score of the agent, computed from what an accepted conversation left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from orchestrator_assets.records import Task


class MetricScore(BaseModel):
    """A score in `metrics.json`, in EVA's shape. Validation metrics are stored the same way.

    `normalized_score` is between 0 and 1, higher is better; `error` says why there is no score;
    `skipped` that the metric does not apply to this conversation.
    """

    name: str
    score: float | None = None
    normalized_score: float | None = None
    details: dict[str, Any] = {}
    error: str | None = None
    skipped: bool = False
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A finished conversation on disk, and the task it was made for."""

    task: Task
    directory: Path


class Metric(Protocol):
    """Scores one conversation."""

    name: str
    version: str

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Blocking; exceptions are turned into an errored score by the caller."""
        ...
