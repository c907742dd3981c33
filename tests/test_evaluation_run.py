"""The composition root, with fake calls: what it starts, writes, and how it stops."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.errors import AgentStartError, ConfigurationError
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun, OutcomeStream, failed_tasks

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
