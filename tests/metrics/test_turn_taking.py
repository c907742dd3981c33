from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recorded_talks import talking
from told_calls import STARTED_AT, told_call, write_result

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.turn_taking import TurnTaking, latency_score

Spans = list[tuple[float, float]]


def turn_taking(
    directory: Path,
    caller: Spans,
    agent: Spans,
    *,
    seconds: float = 20.0,
    ended: str | None = None,
) -> MetricScore:
    if ended is not None:
        write_result(directory, ended)
    score = TurnTaking().compute(talking(directory, caller, agent, seconds=seconds))
    json.dumps(score.model_dump(mode="json"), allow_nan=False)
    return score


# The table in EVA's docs/metrics/turn_taking.md.
@pytest.mark.parametrize(
    ("milliseconds", "without_tool", "with_tool"),
    [
        (-900, 0.0, 0.0),
        (-500, 0.0, 0.0),
        (0, 0.5, 0.5),
        (200, 0.7, 0.7),
        (500, 1.0, 1.0),
        (2_000, 1.0, 1.0),
        (2_750, 0.5, 1.0),
        (3_000, 0.33, 1.0),
        (3_500, 0.0, 0.75),
        (4_000, 0.0, 0.5),
        (5_000, 0.0, 0.0),
        (9_000, 0.0, 0.0),
    ],
)
def test_latency_scores_by_evas_curve(
    milliseconds: int, without_tool: float, with_tool: float
) -> None:
    seconds = milliseconds / 1000
    assert latency_score(seconds, with_tool=False) == pytest.approx(without_tool, abs=0.005)
    assert latency_score(seconds, with_tool=True) == pytest.approx(with_tool, abs=0.005)


def test_the_score_is_the_mean_of_the_turns(tmp_path: Path) -> None:
    caller, agent = [(3.0, 4.0), (8.0, 9.0)], [(1.0, 2.0), (5.0, 6.0), (11.75, 13.0)]
    score = turn_taking(tmp_path, caller, agent)
    assert score.score == score.normalized_score == pytest.approx(0.75, abs=0.01)
    assert [turn["score"] for turn in score.details["turns"]] == pytest.approx([1, 0.5], abs=0.02)
    assert score.details["turns"][1]["latency_seconds"] == pytest.approx(2.75, abs=0.02)


def test_an_early_reply_scores_by_its_negative_latency(tmp_path: Path) -> None:
    score = turn_taking(tmp_path, [(1.0, 4.0)], [(3.8, 6.0)])
    assert score.score == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        pytest.param([(3.0, 5.0)], 0.25, id="a second of overlap"),
        pytest.param([(2.0, 5.0)], 0.0, id="two seconds of overlap"),
        pytest.param([(2.0, 2.8), (5.0, 7.0)], 0.3, id="a short one and a good reply"),
        pytest.param([(2.0, 2.8), (7.5, 9.0)], 0.0, id="a short one and a late reply"),
        pytest.param([(1.3, 2.0), (2.8, 3.5), (5.0, 7.0)], 0.15, id="two of them"),
    ],
)
def test_an_interruption_scores_at_most_half(tmp_path: Path, agent: Spans, expected: float) -> None:
    score = turn_taking(tmp_path, [(1.0, 4.0)], agent)
    assert score.score == pytest.approx(expected, abs=0.02)


def test_interrupting_again_and_again_scores_less_even_in_pauses(tmp_path: Path) -> None:
    caller = [(1.0, 2.0), (2.75, 3.7), (4.45, 6.0)]
    agent = [(2.05, 2.72), (3.75, 4.42), (6.7, 8.0)]
    score = turn_taking(tmp_path, caller, agent)
    assert score.score == pytest.approx(0.25, abs=0.02)


def test_a_barge_in_scores_by_how_soon_the_agent_yields(tmp_path: Path) -> None:
    score = turn_taking(tmp_path, [(3.0, 5.0)], [(1.0, 3.6), (5.1, 7.0)])
    assert score.score == pytest.approx(0.7, abs=0.02)
    assert set(score.details["turns"][0]["parts"]) == {"yield"}


def test_both_interrupting_each_other_scores_the_worse(tmp_path: Path) -> None:
    score = turn_taking(tmp_path, [(3.0, 9.0)], [(1.0, 3.2), (6.0, 7.5), (9.7, 12.0)])
    assert score.score == pytest.approx(0.125, abs=0.02)
    assert set(score.details["turns"][0]["parts"]) >= {"yield", "overlap"}


def test_a_turn_that_is_never_answered_scores_nothing(tmp_path: Path) -> None:
    caller, agent = [(3.0, 4.0), (8.0, 9.0)], [(1.0, 2.0), (5.0, 6.0)]
    score = turn_taking(tmp_path, caller, agent)
    assert [turn["score"] for turn in score.details["turns"]] == [1.0, 0.0]
    assert score.score == 0.5


def test_a_call_that_ends_by_the_agents_silence_scores_nothing(tmp_path: Path) -> None:
    caller, agent = [(3.0, 4.0), (8.0, 9.0)], [(1.0, 2.0), (5.0, 6.0)]
    score = turn_taking(tmp_path, caller, agent, ended="inactivity_timeout")
    assert (score.score, score.normalized_score) == (0.0, 0.0)
    assert score.details["agent_timed_out"]
    assert score.details["mean_of_turns"] == 0.5


def test_a_caller_that_falls_silent_itself_is_not_the_agents_fault(tmp_path: Path) -> None:
    score = turn_taking(tmp_path, [(3.0, 4.0)], [(5.0, 6.0)], ended="inactivity_timeout")
    assert score.score == 1.0


@pytest.mark.parametrize(
    ("caller", "agent", "seconds", "ended"),
    [
        pytest.param([(3.0, 4.0)], [(1.0, 2.0)], 9.0, "goodbye", id="a goodbye"),
        pytest.param([(3.0, 4.0)], [(1.0, 2.0)], 5.5, "time_limit_exceeded", id="the end"),
    ],
)
def test_turns_that_were_not_to_be_answered_are_left_out(
    tmp_path: Path, caller: Spans, agent: Spans, seconds: float, ended: str
) -> None:
    score = turn_taking(tmp_path, caller, agent, seconds=seconds, ended=ended)
    assert score.skipped
    assert score.details["turns"][0]["score"] is None


def test_a_caller_that_goes_on_was_not_left_unanswered(tmp_path: Path) -> None:
    score = turn_taking(tmp_path, [(1.0, 2.0), (3.5, 4.5)], [(5.3, 7.0)])
    assert [turn["score"] for turn in score.details["turns"]] == [None, 1.0]


def with_tool(directory: Path, tool: dict[str, Any], clock: str) -> MetricScore:
    talking(directory, [(3.0, 4.0)], [(1.0, 2.0), (7.0, 8.0)])
    (directory / "user_simulator_events.jsonl").write_text("", encoding="utf-8")
    write_result(directory, "goodbye", clock=clock)
    return TurnTaking().compute(told_call(directory, report={"tool_calls": [tool]}))


@pytest.mark.parametrize(
    ("seconds", "clock", "expected"),
    [
        pytest.param(5.0, "wall", 1.0, id="before the reply"),
        pytest.param(2.0, "wall", 1 / 3, id="before the turn"),
        pytest.param(9.0, "wall", 1 / 3, id="after the reply"),
        pytest.param(5.0, "media", 1 / 3, id="not in real time"),
    ],
)
def test_a_tool_that_is_used_for_the_reply_gives_it_time(
    tmp_path: Path, seconds: float, clock: str, expected: float
) -> None:
    used_at = round((STARTED_AT.timestamp() + seconds) * 1000)
    score = with_tool(tmp_path, {"name": "look_up", "timestamp": used_at}, clock)
    assert score.score == pytest.approx(expected, abs=0.02)
    assert score.details["turns"][0]["with_tool"] == (expected == 1.0)


def test_a_tool_without_a_time_gives_no_time(tmp_path: Path) -> None:
    score = with_tool(tmp_path, {"name": "look_up"}, "wall")
    assert score.score == pytest.approx(1 / 3, abs=0.02)
