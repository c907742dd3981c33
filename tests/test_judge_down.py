"""A judge that is down costs no call and no score."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evaluation_fakes import FakeCalls, write_evaluation
from judge_server import JudgeServer

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.judges.ledger import judge_use, read_judge_calls

VERDICT = {"evidence": [], "summary": "All true.", "rating": 3}


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(VERDICT) as server:
        yield server


@pytest.fixture
def evaluation(tmp_path: Path, server: JudgeServer) -> Evaluation:
    judge = {
        "model": "m",
        "base_url": server.base_url,
        "max_retries": 0,
        "input_usd_per_million_tokens": 10,
        "output_usd_per_million_tokens": 50,
    }
    records = [f"record {number}" for number in range(20)]
    path = write_evaluation(tmp_path, records, metrics=["faithfulness"], judge=judge)
    return load_evaluation(path)


async def run(
    evaluation: Evaluation, calls: FakeCalls, run_id: str, mode: AttemptMode = AttemptMode.CALL
) -> list[TaskOutcome]:
    calls.evaluation = evaluation
    settling = EvaluationRun(
        evaluation,
        evaluation.load_tasks(),
        mode=mode,
        run_id=run_id,
        place_call=calls.place_call,
        validate=calls.validate,
    )
    return [outcome async for outcome in settling.outcomes()]


def scores(evaluation: Evaluation) -> list[dict[str, Any]]:
    paths = sorted(evaluation.run_directory.glob("records/*/metrics.json"))
    return [json.loads(path.read_text())["metrics"]["faithfulness"] for path in paths]


async def test_an_outage_costs_no_call_and_the_next_run_asks_again(
    evaluation: Evaluation, server: JudgeServer
) -> None:
    calls = FakeCalls()
    server.stop()
    outcomes = await run(evaluation, calls, "run-1")

    assert all(outcome.accepted for outcome in outcomes)
    assert all(score["error"] and score["score"] is None for score in scores(evaluation))
    asked = [
        call
        for path in evaluation.run_directory.glob("records/*")
        for call in read_judge_calls(path)
    ]
    assert len(asked) <= 8  # As many as may ask at once; the others were spared.

    server.start()
    await run(evaluation, calls, "run-2")

    assert len(calls.placed) == 20
    assert [score["score"] for score in scores(evaluation)] == [3.0] * 20


async def test_an_outage_costs_no_score_and_the_ledger_keeps_what_was_paid(
    evaluation: Evaluation, server: JudgeServer
) -> None:
    calls = FakeCalls()
    await run(evaluation, calls, "run-1")
    server.stop()
    await run(evaluation, calls, "run-2", AttemptMode.METRICS_ONLY)

    assert [score["score"] for score in scores(evaluation)] == [3.0] * 20
    assert all("faithfulness" not in score["latest_error"] for score in scores(evaluation))
    assert all(server.base_url in score["latest_error"] for score in scores(evaluation))
    server.start()
    await run(evaluation, calls, "run-3", AttemptMode.METRICS_ONLY)

    assert len(calls.placed) == 20
    assert all(score["latest_error"] is None for score in scores(evaluation))
    for path in evaluation.run_directory.glob("records/*"):
        use = judge_use(path)["faithfulness"]
        assert use.calls == 2
        assert use.cost_usd == pytest.approx(2 * (100 * 10 + 20 * 50) / 1e6)
