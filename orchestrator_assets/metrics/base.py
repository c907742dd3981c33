"""What a metric is: a score of the agent, computed from what an accepted conversation left."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pydantic import BaseModel

from orchestrator_assets.judges.use import JudgeUse

if TYPE_CHECKING:
    from orchestrator_assets.judges.judge import Judge
    from orchestrator_assets.metrics.conversation import Conversation


class MetricScore(BaseModel):
    """A score in `metrics.json`, in EVA's shape. Validation metrics are stored the same way.

    `normalized_score` is between 0 and 1, higher is better; `error` says why there is no score;
    `skipped` that the metric does not apply to this conversation. `version` is the metric's
    `code_version`. `latest_error` is set where the score was to be computed again and could not
    be: the score is the earlier one. `prompt_hash` and `judge` are there if a judge was asked.
    """

    name: str
    score: float | None = None
    normalized_score: float | None = None
    details: dict[str, Any] = {}
    error: str | None = None
    skipped: bool = False
    version: str | None = None
    latest_error: str | None = None
    prompt_hash: str | None = None
    judge: JudgeUse | None = None


class Need(StrEnum):
    """What a metric can't do without. A conversation that lacks it is skipped, with the reason."""

    AUDIO = "audio"
    """The recordings of both sides."""
    TRANSCRIPT = "transcript"
    STATE = "state"
    """The agent's state after the call (`agent.call_report_url`)."""
    TOOL_CALLS = "tool_calls"
    """The log of the tools the agent used (`agent.call_report_url`)."""
    AGENT_TEXT = "agent_text"
    """What the agent itself says that it said (`agent.call_report_url`)."""


class _Described(Protocol):
    """What every metric says of itself; plain class attributes will do."""

    @property
    def name(self) -> str:
        """What the evaluation calls it by."""

    @property
    def code_version(self) -> str:
        """Changes whenever a conversation may get another score: earlier scores are stale then."""

    @property
    def needs(self) -> frozenset[Need]:
        """Without these in the conversation, it is skipped."""

    @property
    def pass_threshold(self) -> float | None:
        """The normalised score from which a trial has passed, for pass@k; None: left out of it."""


@runtime_checkable
class Metric(_Described, Protocol):
    """A deterministic metric: the same conversation always gets the same score."""

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Blocking; exceptions are turned into an errored score by the caller."""
        ...


@runtime_checkable
class JudgedMetric(_Described, Protocol):
    """A metric that asks a language model. Its `code_version` covers its prompt."""

    async def judge(self, conversation: Conversation, judge: Judge) -> MetricScore:
        """Return the score, with `judge` and `prompt_hash` set.

        Raises JudgeError where the judge gives no usable answer: there is no score then.
        """
        ...
