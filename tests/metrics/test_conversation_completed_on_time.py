from __future__ import annotations

from pathlib import Path

import pytest
from told_calls import eva_call, told_call, write_result

from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.conversation_completed_on_time import ConversationCompletedOnTime


@pytest.mark.parametrize(
    ("ended_reason", "expected"),
    [
        ("goodbye", 1.0),
        ("agent_hangup", 1.0),
        ("time_limit_exceeded", 0.0),
        ("inactivity_timeout", 0.0),
    ],
)
def test_only_a_call_that_one_side_ended_was_completed(
    tmp_path: Path, ended_reason: str, expected: float
) -> None:
    write_result(tmp_path, ended_reason, duration_seconds=75.0, time_limit_seconds=75.0)
    score = ConversationCompletedOnTime().compute(told_call(tmp_path))
    assert (score.score, score.normalized_score) == (expected, expected)
    assert score.details["ended_reason"] == ended_reason
    assert score.details["duration_seconds"] == score.details["time_limit_seconds"] == 75.0
    assert score.details["reason"]


@pytest.mark.parametrize("ended_reason", ["transport_error", "error", "cancelled"])
def test_a_call_that_was_broken_off_says_nothing_of_the_agent(
    tmp_path: Path, ended_reason: str
) -> None:
    write_result(tmp_path, ended_reason)
    score = ConversationCompletedOnTime().compute(told_call(tmp_path))
    assert score.skipped
    assert score.score is None
    assert score.details["reason"] == f"the call was broken off ({ended_reason})"


def test_the_time_limit_of_an_older_call_is_not_known(tmp_path: Path) -> None:
    write_result(tmp_path, "goodbye")
    score = ConversationCompletedOnTime().compute(told_call(tmp_path))
    assert score.score == 1.0
    assert score.details["time_limit_seconds"] is None


def test_a_call_without_a_result_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConversationFileError, match=r"result\.json: is missing"):
        ConversationCompletedOnTime().compute(told_call(tmp_path))


def test_a_real_call_of_evas_ended_by_goodbye(eva_data: Path) -> None:
    score = ConversationCompletedOnTime().compute(eva_call(eva_data))
    assert score.score == 1.0
    assert score.details["duration_seconds"] == 344.258
