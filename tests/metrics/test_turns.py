from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from told_calls import eva_call, told_call

from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.turns import Turns

Speaking = Callable[..., Conversation]


def test_turns_are_counted_in_the_recordings(speaking: Speaking) -> None:
    caller = [(2.0, 3.0), (6.0, 7.0)]
    agent = [(0.5, 1.5), (3.8, 5.0), (7.8, 9.0)]
    score = Turns().compute(speaking(caller, agent))
    assert score.score == 2
    assert score.normalized_score is None
    assert score.details["counted_in"] == "recordings"
    assert score.details["recordings"] == {"num_caller_turns": 2, "num_agent_turns": 3}
    assert "transcript" not in score.details


def test_a_side_that_goes_on_after_a_pause_has_one_turn(speaking: Speaking) -> None:
    caller = [(1.0, 2.0), (4.0, 5.0), (11.0, 12.0)]
    agent = [(6.0, 7.0), (8.0, 9.0)]
    score = Turns().compute(speaking(caller, agent))
    assert score.details["recordings"] == {"num_caller_turns": 2, "num_agent_turns": 1}


def test_an_agent_that_talks_on_over_the_caller_has_one_turn(speaking: Speaking) -> None:
    score = Turns().compute(speaking([(3.0, 4.0)], [(1.0, 8.0)]))
    assert score.details["recordings"] == {"num_caller_turns": 1, "num_agent_turns": 1}


def test_both_counts_are_given_where_both_are_known(speaking: Speaking, tmp_path: Path) -> None:
    speaking([(2.0, 3.0)], [(0.5, 1.5)])
    rows = [("agent", "Hello.", 0.5, 1.5), ("caller", "Hi.", 2.0, 3.0), ("agent", "So?", 3.5, 4.0)]
    score = Turns().compute(told_call(tmp_path, rows))
    assert score.details["recordings"] == {"num_caller_turns": 1, "num_agent_turns": 1}
    assert score.details["transcript"] == {"num_caller_turns": 1, "num_agent_turns": 2}


def test_without_recordings_the_transcript_counts(eva_data: Path) -> None:
    score = Turns().compute(eva_call(eva_data))
    assert score.details["counted_in"] == "transcript"
    assert score.score == score.details["transcript"]["num_caller_turns"] == 10
    assert score.details["transcript"]["num_agent_turns"] == 10


def test_with_neither_the_metric_is_skipped(tmp_path: Path) -> None:
    conversation = told_call(tmp_path)
    (tmp_path / "transcript.jsonl").unlink()
    score = Turns().compute(conversation)
    assert score.skipped
    assert score.details["reason"] == "there is neither a recording nor a transcript"


def test_a_call_in_which_nobody_spoke_has_no_turn(tmp_path: Path) -> None:
    score = Turns().compute(told_call(tmp_path))
    assert score.score == 0
