"""The ledger of what was asked about a conversation (S3)."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.judges.ledger import (
    JUDGE_CALLS_FILE,
    CallOutcome,
    JudgeCall,
    append_judge_call,
    judge_use,
    read_judge_calls,
)


def call(metric: str = "faithfulness", **fields: Any) -> JudgeCall:
    return JudgeCall(
        **{
            "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            "metric": metric,
            "model": "a-model",
            "prompt": "faithfulness",
            "prompt_version": "1",
            "prompt_hash": "0123456789ab",
            "seconds": 1.5,
            "outcome": CallOutcome.ANSWERED,
            **fields,
        }
    )


def test_reads_back_what_was_appended(tmp_path: Path) -> None:
    calls = [
        call(input_tokens=10, output_tokens=2, cost_usd=0.5),
        call(outcome=CallOutcome.NO_ANSWER, error="HTTP 500"),
        call(outcome=CallOutcome.UNUSABLE_ANSWER, error="is empty", raw_answer="„?“\u2028\n"),
    ]
    for each in calls:
        append_judge_call(tmp_path, each)

    assert read_judge_calls(tmp_path) == calls
    assert (tmp_path / JUDGE_CALLS_FILE).read_bytes().count(b"\n") == 3


def test_a_conversation_nobody_judged_has_no_ledger(tmp_path: Path) -> None:
    assert read_judge_calls(tmp_path) == []
    assert judge_use(tmp_path) == {}
    assert judge_use(tmp_path / "nowhere") == {}


def test_a_torn_last_line_is_left_out_and_mended(tmp_path: Path) -> None:
    append_judge_call(tmp_path, call())
    append_judge_call(tmp_path, call("conciseness"))
    path = tmp_path / JUDGE_CALLS_FILE
    path.write_bytes(path.read_bytes()[:-20])

    assert [each.metric for each in read_judge_calls(tmp_path)] == ["faithfulness"]
    append_judge_call(tmp_path, call("politeness"))
    assert [each.metric for each in read_judge_calls(tmp_path)] == ["faithfulness", "politeness"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("garbage\n", r"judge_calls\.jsonl, line 2: is not a JSON object"),
        ('{"metric": "x"}\n', r"judge_calls\.jsonl, line 2, at: Field required"),
    ],
)
def test_damage_in_the_middle_is_named(tmp_path: Path, damage: str, message: str) -> None:
    append_judge_call(tmp_path, call())
    with (tmp_path / JUDGE_CALLS_FILE).open("a") as file:
        file.write(damage)
    append_judge_call(tmp_path, call())

    with pytest.raises(RunDirectoryError, match=message):
        read_judge_calls(tmp_path)


def test_a_line_of_a_later_version_is_understood(tmp_path: Path) -> None:
    line = call().model_dump_json()[:-1] + ', "mood": "good"}\n'
    (tmp_path / JUDGE_CALLS_FILE).write_text(line)

    assert read_judge_calls(tmp_path) == [call()]


def test_threads_may_append_at_the_same_time(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=append_judge_call, args=(tmp_path, call(raw_answer="x" * 5_000)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(read_judge_calls(tmp_path)) == 20


def test_use_is_summed_by_metric_whatever_became_of_the_scores(tmp_path: Path) -> None:
    for each in (
        call(input_tokens=10, output_tokens=2, cost_usd=0.5),
        call(input_tokens=20, output_tokens=3, cost_usd=0.25, outcome="unusable_answer"),
        call(outcome="no_answer", error="HTTP 500"),
        call(model="b-model", error=None),
        call("conciseness", input_tokens=1, output_tokens=1),
        call("aspiration", outcome="no_answer"),
    ):
        append_judge_call(tmp_path, each)

    use = judge_use(tmp_path)

    assert list(use) == ["aspiration", "conciseness", "faithfulness"]
    faithfulness = use["faithfulness"]
    assert faithfulness.model == "a-model, b-model"
    assert (faithfulness.calls, faithfulness.input_tokens, faithfulness.output_tokens) == (3, 30, 5)
    assert faithfulness.cost_usd == 0.75
    assert (faithfulness.unmetered_calls, faithfulness.unpriced_calls) == (1, 1)
    assert (use["conciseness"].cost_usd, use["conciseness"].unpriced_calls) == (None, 1)
    assert use["aspiration"].calls == 0
