"""Judges that are made when they are first needed, and a run that can't have one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from evaluation_fakes import FakeCalls, write_evaluation
from judge_server import JudgeServer

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.errors import JudgeError
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.run_setup import JudgesOnDemand, Preflight, ValidationOnDemand

JUDGED_BY_EAR = {"user_speech_fidelity": {"judged_by": "audio_judge"}}
ELSEWHERE = {"model": "m", "base_url": "https://judge.example/v1", "api_key_env": "NO_SUCH_KEY"}


def make_evaluation(folder: Path, **fields: Any) -> Evaluation:
    return load_evaluation(write_evaluation(folder, ["first", "second"], **fields))


async def test_a_judge_is_made_once_and_closed(tmp_path: Path) -> None:
    with JudgeServer({}) as server:
        judge = {"model": "m", "base_url": server.base_url}
        judges = JudgesOnDemand(make_evaluation(tmp_path, judge=judge), Preflight())

        assert await judges.text() is await judges.text()
        await judges.aclose()


async def test_a_judge_that_can_not_be_made_is_reported_to_the_run(tmp_path: Path) -> None:
    preflight = Preflight()
    judges = JudgesOnDemand(make_evaluation(tmp_path, judge=ELSEWHERE), preflight)

    asked = [asyncio.ensure_future(judges.text()) for _ in range(2)]
    async with asyncio.timeout(10):
        await preflight.failed.wait()

    assert str(preflight.error) == (
        "judge: no key for https://judge.example/v1; set $NO_SUCH_KEY in the environment"
    )
    assert not any(each.done() for each in asked)
    for each in asked:
        each.cancel()
    await asyncio.wait(asked)


async def test_validation_by_ear_does_not_begin_without_its_judge(tmp_path: Path) -> None:
    evaluation = make_evaluation(tmp_path, audio_judge=ELSEWHERE, validation=JUDGED_BY_EAR)
    preflight = Preflight()
    validate = ValidationOnDemand(evaluation, preflight, JudgesOnDemand(evaluation, preflight))
    [task, _] = evaluation.load_tasks()

    judging = asyncio.ensure_future(validate(task, tmp_path, bypass_gate=False))
    async with asyncio.timeout(30):
        await preflight.failed.wait()
    judging.cancel()
    await asyncio.wait({judging})

    assert str(preflight.error).startswith("audio_judge: no key for https://judge.example/v1")
    assert list(tmp_path.glob("metrics.json")) == []


async def test_a_run_whose_metrics_lack_their_judge_ends_with_that(tmp_path: Path) -> None:
    evaluation = make_evaluation(tmp_path)
    tasks = evaluation.load_tasks()
    calls = FakeCalls()
    run = calls.create_run(evaluation, tasks, mode=AttemptMode.CALL, run_id="run-1")
    assert all([outcome.accepted async for outcome in run.outcomes()])
    judged = make_evaluation(tmp_path, metrics=["faithfulness"], judge=ELSEWHERE)

    scoring = EvaluationRun(judged, tasks, mode=AttemptMode.METRICS_ONLY, run_id="run-2")

    with pytest.raises(JudgeError, match="no key for"):
        async with asyncio.timeout(30):
            [outcome async for outcome in scoring.outcomes()]
