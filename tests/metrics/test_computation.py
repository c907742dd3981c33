from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.computation import MetricsComputation
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.registry import create_metrics, metric_names
from orchestrator_assets.metrics.scores import merge_scores, read_scores
from orchestrator_assets.records import Record, Task

TASK = Task(Record(id="talk"), trial=1)


class Answers:
    """A metric that answers with what it was given, an exception included."""

    code_version = "7"

    def __init__(self, name: str, answer: Any) -> None:
        self.name = name
        self.answer = answer

    def compute(self, conversation: Conversation) -> MetricScore:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


def scored(value: float, **fields: Any) -> MetricScore:
    return MetricScore(name="", score=value, **fields)


def test_both_built_in_metrics_are_registered() -> None:
    assert metric_names() == ["response_latency", "task_completion"]
    names = [metric.name for metric in create_metrics(["task_completion", "response_latency"])]
    assert names == ["task_completion", "response_latency"]


def test_an_unknown_metric_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'speed'; known: response_latency, task_completion"):
        MetricsComputation(["speed"])


async def test_scores_carry_name_and_version_and_are_kept(tmp_path: Path) -> None:
    computation = MetricsComputation([], extra_metrics=[Answers("a", scored(0.25))])
    scores = await computation.compute(TASK, tmp_path)
    assert scores == {"a": MetricScore(name="a", score=0.25, version="7")}
    assert read_scores(tmp_path) == scores


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (KeyError("turns"), "KeyError: 'turns'"),
        (scored(float("nan")), "ValueError: the score is nan"),
        (None, "AttributeError"),
        (scored(1.0, details={"odd": object()}), "PydanticSerializationError"),
    ],
)
async def test_a_metric_that_fails_is_an_errored_score_and_costs_no_other(
    tmp_path: Path, answer: Any, error: str
) -> None:
    metrics = [Answers("bad", answer), Answers("good", scored(1.0))]
    scores = await MetricsComputation([], extra_metrics=metrics).compute(TASK, tmp_path)
    assert scores["good"].score == 1.0
    assert scores["bad"].score is None
    assert scores["bad"].error is not None
    assert scores["bad"].error.startswith(error)
    assert scores["bad"].version == "7"
    assert read_scores(tmp_path) == scores


async def test_scores_of_metrics_that_are_not_computed_stay(tmp_path: Path) -> None:
    other = MetricScore(name="conversation_valid_end", score=1.0)
    merge_scores(tmp_path, "talk", {other.name: other})
    await MetricsComputation([], extra_metrics=[Answers("a", scored(0.5))]).compute(TASK, tmp_path)
    assert read_scores(tmp_path)[other.name] == other


async def test_metrics_run_side_by_side(tmp_path: Path) -> None:
    both_run = threading.Barrier(2, timeout=10)

    class Meets:
        code_version = "1"

        def __init__(self, name: str) -> None:
            self.name = name

        def compute(self, conversation: Conversation) -> MetricScore:
            both_run.wait()
            return MetricScore(name=self.name, score=1.0)

    computation = MetricsComputation([], extra_metrics=[Meets("a"), Meets("b")])
    scores = await computation.compute(TASK, tmp_path)
    assert [scores[name].error for name in ("a", "b")] == [None, None]


async def test_without_metrics_nothing_is_written(tmp_path: Path) -> None:
    assert await MetricsComputation([]).compute(TASK, tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


async def test_the_built_in_metrics_name_what_a_conversation_lacks(tmp_path: Path) -> None:
    scores = await MetricsComputation(metric_names()).compute(TASK, tmp_path)
    assert scores["task_completion"].skipped
    assert "audio_user.wav: is missing" in str(scores["response_latency"].error)
