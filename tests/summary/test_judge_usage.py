"""What judging has cost, by metric."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from scripted_world import BAD_CALLER, GOOD, World, task

from orchestrator_assets.judges.ledger import (
    JUDGE_CALLS_FILE,
    CallOutcome,
    JudgeCall,
    append_judge_call,
)
from orchestrator_assets.records import Task
from orchestrator_assets.summary.writing import write_summaries

A = task("a")
B = task("b")


def spend(directory: Path, metric: str, **fields: Any) -> None:
    call = {
        "model": "judge-1",
        "input_tokens": 1_000,
        "output_tokens": 10,
        "cost_usd": 0.25,
        "outcome": CallOutcome.ANSWERED,
        **fields,
    }
    append_judge_call(
        directory,
        JudgeCall(
            at=datetime.now(UTC),
            metric=metric,
            prompt="p",
            prompt_version="1",
            prompt_hash="0" * 12,
            seconds=1.0,
            **call,
        ),
    )


def usage(world: World, *tasks: Task) -> dict[str, Any]:
    write_summaries(world.run_directory, tasks)
    written = json.loads(world.run_directory.metrics_summary_path.read_text(encoding="utf-8"))
    return dict(written["judge_usage"])


async def test_where_no_judge_was_asked_there_is_no_cost(world: World) -> None:
    await world.run(A)

    assert usage(world, A) == {"total": None, "per_metric": {}}


async def test_every_answer_counts_also_those_about_archived_attempts(world: World) -> None:
    world.scripts["a"] = [BAD_CALLER, GOOD]
    await world.run(A, B)
    directory = world.run_directory.task_directory
    spend(world.run_directory.archive_directory(A, 1), "faithfulness")
    spend(directory(A), "faithfulness", outcome=CallOutcome.UNUSABLE_ANSWER)
    spend(directory(B), "faithfulness", model="judge-2")
    spend(directory(B), "conciseness", cost_usd=None)
    spend(directory(B), "conciseness", outcome=CallOutcome.NO_ANSWER, cost_usd=None)

    found = usage(world, A, B)

    assert found["per_metric"] == {
        "conciseness": {
            "model": "judge-1",
            "calls": 1,
            "input_tokens": 1_000,
            "output_tokens": 10,
            "cost_usd": None,
            "unmetered_calls": 0,
            "unpriced_calls": 1,
        },
        "faithfulness": {
            "model": "judge-1, judge-2",
            "calls": 3,
            "input_tokens": 3_000,
            "output_tokens": 30,
            "cost_usd": 0.75,
            "unmetered_calls": 0,
            "unpriced_calls": 0,
        },
    }
    assert (found["total"]["calls"], found["total"]["cost_usd"]) == (4, 0.75)
    assert found["total"]["unpriced_calls"] == 1


async def test_a_damaged_ledger_costs_no_summary(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.run(A, B)
    path = world.run_directory.task_directory(A) / JUDGE_CALLS_FILE
    path.write_text("nothing\n{}\n", encoding="utf-8")
    spend(world.run_directory.task_directory(B), "faithfulness")

    with caplog.at_level(logging.WARNING):
        found = usage(world, A, B)

    assert found["total"]["calls"] == 1
    assert "what judging a has cost is not known" in caplog.text
