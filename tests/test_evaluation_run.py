"""The composition root, with fake calls: what it starts, writes, and how it stops."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from evaluation_fakes import Attempt, FakeCalls, write_evaluation
from metric_packages import install_opinion

from orchestrator_assets import evaluation_run
from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.errors import AgentStartError, ConfigurationError, JudgeError
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun, OutcomeStream, failed_tasks
from orchestrator_assets.judges.judges import Judges
from orchestrator_assets.metrics.scores import read_scores
from orchestrator_assets.metrics.selection import MetricSelection, ScoreChoice
from orchestrator_assets.run_setup import JudgesOnDemand

RECORD_IDS = ["first", "second", "third"]


def make_evaluation(folder: Path, **fields: Any) -> Evaluation:
    return load_evaluation(write_evaluation(folder, RECORD_IDS, **fields))


def make_run(evaluation: Evaluation, calls: FakeCalls) -> EvaluationRun:
    return calls.create_run(
        evaluation, evaluation.load_tasks(), mode=AttemptMode.CALL, run_id="run-1"
    )


async def settle(run: EvaluationRun) -> list[TaskOutcome]:
    return [outcome async for outcome in run.outcomes()]


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


async def test_every_task_is_yielded_and_kept(tmp_path: Path) -> None:
    run = make_run(make_evaluation(tmp_path), FakeCalls())

    outcomes = await settle(run)

    assert sorted(outcome.task.id for outcome in outcomes) == RECORD_IDS
    assert run.settled == outcomes
    assert run.error is None


async def test_the_run_directory_gets_its_configuration_without_secrets(tmp_path: Path) -> None:
    evaluation = make_evaluation(
        tmp_path,
        agent={
            "url": "ws://me:pass@127.0.0.1:9/media?token=abc&room=1",
            "command": ["agent", "--api-key", "abc", "--auth-token=abc", "--port", "{port}"],
            "parameters": {"SESSION_TOKEN": "abc", "language": "ja"},
        },
    )

    await settle(make_run(evaluation, FakeCalls()))

    text = (evaluation.run_directory / "config.json").read_text(encoding="utf-8")
    configuration = json.loads(text)
    assert "abc" not in text
    assert "pass@" not in text
    assert configuration["agent"]["url"] == "ws://***@127.0.0.1:9/media?token=***&room=1"
    assert configuration["agent"]["command"][-2:] == ["--port", "{port}"]
    assert configuration["agent"]["parameters"] == {"SESSION_TOKEN": "***", "language": "ja"}
    assert configuration["num_trials"] == 1
    assert configuration["provenance"]["dataset"]["path"] == str(evaluation.data_set)


async def test_the_summary_is_of_all_tasks_even_when_only_some_were_run(tmp_path: Path) -> None:
    evaluation = make_evaluation(tmp_path)
    tasks = evaluation.load_tasks()[:1]
    run = FakeCalls().create_run(evaluation, tasks, mode=AttemptMode.CALL, run_id="run-1")

    await settle(run)

    summary = read_json(evaluation.run_directory / "evaluation_summary.json")
    assert summary["simulation"]["successful_record_ids"] == ["first"]
    assert summary["pending_record_ids"] == ["second", "third"]


async def test_stopping_hangs_up_and_writes_the_summary(tmp_path: Path) -> None:
    evaluation = make_evaluation(tmp_path)
    calls = FakeCalls({"second": [Attempt.ENDLESS]}, live=asyncio.Event())
    run = make_run(evaluation, calls)

    async with aclosing(run.outcomes()) as outcomes:
        first_two = [await anext(outcomes), await anext(outcomes)]

    assert {outcome.task.id for outcome in first_two} == {"first", "third"}
    assert calls.hung_up == ["second"]
    summary = read_json(evaluation.run_directory / "evaluation_summary.json")
    assert summary["pending_record_ids"] == ["second"]


async def test_an_agent_that_does_not_start_ends_the_run_and_costs_no_attempt(
    tmp_path: Path,
) -> None:
    evaluation = make_evaluation(
        tmp_path,
        agent={
            "url": "ws://127.0.0.1:{port}/media",
            "command": [sys.executable, "-c", "raise SystemExit('no licence')"],
        },
    )
    run = EvaluationRun(evaluation, evaluation.load_tasks(), mode=AttemptMode.CALL, run_id="run-1")

    with pytest.raises(AgentStartError, match="no licence"):
        await settle(run)

    assert isinstance(run.error, AgentStartError)
    assert failed_tasks(evaluation) == []
    summary = read_json(evaluation.run_directory / "evaluation_summary.json")
    assert summary["pending_record_ids"] == RECORD_IDS


async def test_a_run_that_only_reuses_starts_no_agent(tmp_path: Path) -> None:
    evaluation = make_evaluation(tmp_path)
    await settle(make_run(evaluation, FakeCalls()))
    run = EvaluationRun(evaluation, evaluation.load_tasks(), mode=AttemptMode.CALL, run_id="run-2")

    outcomes = await settle(run)

    assert all(outcome.reused for outcome in outcomes)
    assert not (evaluation.run_directory / "agent.log").exists()


class ClosedJudges(JudgesOnDemand):
    """Judges that note when they are closed."""

    closed: ClassVar[list[Judges]] = []

    async def aclose(self) -> None:
        await super().aclose()
        self.closed.append(self)


@pytest.fixture
def closed_judges(monkeypatch: pytest.MonkeyPatch) -> list[Judges]:
    monkeypatch.setattr(evaluation_run, "JudgesOnDemand", ClosedJudges)
    monkeypatch.setattr(ClosedJudges, "closed", [])
    return ClosedJudges.closed


async def test_the_judges_are_made_once_a_run_and_closed_at_its_end(
    tmp_path: Path, closed_judges: list[Judges]
) -> None:
    await settle(make_run(make_evaluation(tmp_path), FakeCalls(real_metrics=True)))

    assert len(closed_judges) == 1


async def test_the_judges_are_closed_where_a_run_is_stopped(
    tmp_path: Path, closed_judges: list[Judges]
) -> None:
    calls = FakeCalls({"second": [Attempt.ENDLESS]}, live=asyncio.Event())
    run = make_run(make_evaluation(tmp_path), calls)

    async with aclosing(run.outcomes()) as outcomes:
        await anext(outcomes)

    assert len(closed_judges) == 1


async def test_the_judges_are_closed_where_a_run_breaks_off(
    tmp_path: Path, closed_judges: list[Judges]
) -> None:
    evaluation = make_evaluation(tmp_path)
    (evaluation.run_directory / "records" / "first" / "trial_0").mkdir(parents=True)

    with pytest.raises(ConfigurationError):
        await settle(make_run(evaluation, FakeCalls()))

    assert len(closed_judges) == 1


async def test_a_judge_that_can_not_be_asked_for_want_of_a_model_ends_the_run_and_costs_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_opinion(tmp_path, monkeypatch)
    monkeypatch.delenv("JUDGE_MODEL", raising=False)
    evaluation = make_evaluation(tmp_path, metrics=["opinion"], judge={})
    run = make_run(evaluation, FakeCalls(real_metrics=True))

    with pytest.raises(JudgeError, match="JUDGE_MODEL"):
        await settle(run)

    scores = [read_scores(path.parent) for path in evaluation.run_directory.rglob("metrics.json")]
    assert scores
    assert not any("opinion" in each for each in scores)


@pytest.mark.parametrize(
    ("mode", "choice"),
    [
        (AttemptMode.CALL, ScoreChoice.LACKING),
        (AttemptMode.FORCE, ScoreChoice.LACKING),
        (AttemptMode.METRICS_ONLY, ScoreChoice.ALL),
    ],
)
def test_a_run_computes_what_is_lacking_unless_it_is_for_metrics_alone(
    tmp_path: Path, mode: AttemptMode, choice: ScoreChoice
) -> None:
    run = EvaluationRun(make_evaluation(tmp_path), [], mode=mode, run_id="run-1")

    assert run.metric_selection == MetricSelection(choice)


async def test_failed_tasks_are_those_tried_and_not_accepted(tmp_path: Path) -> None:
    evaluation = make_evaluation(tmp_path)
    tasks = evaluation.load_tasks()
    calls = FakeCalls({"second": [Attempt.CUT_OFF]})
    run = calls.create_run(evaluation, tasks[:2], mode=AttemptMode.CALL, run_id="run-1")

    await settle(run)

    assert [task.id for task in failed_tasks(evaluation)] == ["second"]


def test_a_stream_yields_what_the_run_yields(tmp_path: Path) -> None:
    run = make_run(make_evaluation(tmp_path), FakeCalls())

    with OutcomeStream(run.outcomes) as outcomes:
        settled = [outcome.task.id for outcome in outcomes]

    assert sorted(settled) == RECORD_IDS


def test_a_stream_raises_what_the_run_raises(tmp_path: Path) -> None:
    evaluation = make_evaluation(tmp_path)
    (evaluation.run_directory / "records" / "first" / "trial_0").mkdir(parents=True)
    run = make_run(evaluation, FakeCalls())

    with OutcomeStream(run.outcomes) as outcomes, pytest.raises(ConfigurationError):
        list(outcomes)

    assert isinstance(run.error, ConfigurationError)


def test_leaving_a_stream_early_stops_the_run_and_its_thread(tmp_path: Path) -> None:
    calls = FakeCalls({"second": [Attempt.ENDLESS]})
    run = make_run(make_evaluation(tmp_path), calls)

    with OutcomeStream(run.outcomes) as outcomes:
        iterator = iter(outcomes)
        next(iterator)
        next(iterator)
        assert "evaluation-run" in {thread.name for thread in threading.enumerate()}

    assert calls.hung_up == ["second"]
    assert "evaluation-run" not in {thread.name for thread in threading.enumerate()}


def test_a_slow_consumer_does_not_hold_up_the_run() -> None:
    finished = threading.Event()

    async def outcomes() -> AsyncGenerator[TaskOutcome, None]:
        for _ in range(3):
            yield None  # type: ignore[misc]
        finished.set()

    with OutcomeStream(outcomes) as stream:
        next(iter(stream))
        assert finished.wait(timeout=5)


def test_stopping_a_stream_ends_the_iteration_though_more_would_come(tmp_path: Path) -> None:
    run = make_run(make_evaluation(tmp_path), FakeCalls({"second": [Attempt.ENDLESS]}))

    with OutcomeStream(run.outcomes) as outcomes:
        taken = []
        for outcome in outcomes:
            taken.append(outcome)
            outcomes.stop()

    assert len(taken) == 1
    assert outcomes.stopped
