from __future__ import annotations

from pathlib import Path

import pytest
from recorded_talks import talking
from told_calls import write_result

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.dead_air import DeadAir

Spans = list[tuple[float, float]]


def dead_air(
    directory: Path,
    caller: Spans,
    agent: Spans,
    *,
    seconds: float = 20.0,
    ended: str | None = None,
) -> MetricScore:
    if ended is not None:
        write_result(directory, ended)
    return DeadAir().compute(talking(directory, caller, agent, seconds=seconds))


def test_a_late_answer_is_dead_air(tmp_path: Path) -> None:
    caller, agent = [(1.0, 2.0), (8.0, 9.0), (13.0, 14.0)], [(6.2, 7.0), (10.0, 11.0), (17.5, 19.0)]
    score = dead_air(tmp_path, caller, agent)
    assert score.score == pytest.approx(4.2, abs=0.02)
    assert score.normalized_score == pytest.approx(1 / 3, abs=0.001)
    assert score.details["total_seconds"] == pytest.approx(7.7, abs=0.04)
    first, second = score.details["silences"]
    assert first["turn"] == 0
    assert first["start_seconds"] == pytest.approx(2.0, abs=0.02)
    assert first["end_seconds"] == pytest.approx(6.2, abs=0.02)
    assert (first["broken_by"], second["turn"]) == ("agent", 2)


@pytest.mark.parametrize(("silence", "dead"), [(2.9, False), (3.1, True)])
def test_dead_air_begins_at_three_seconds(tmp_path: Path, silence: float, dead: bool) -> None:
    score = dead_air(tmp_path, [(1.0, 2.0)], [(2.0 + silence, 8.0)])
    assert (score.score == 0.0) is not dead
    assert score.normalized_score == (0.0 if dead else 1.0)


def test_an_agent_that_falls_silent_for_good_is_dead_air_to_the_end(tmp_path: Path) -> None:
    score = dead_air(tmp_path, [(4.0, 5.0)], [(1.0, 3.0)], ended="inactivity_timeout")
    assert score.score == pytest.approx(15.0, abs=0.02)
    assert score.details["silences"][0]["broken_by"] == "end_of_call"


def test_a_caller_that_asks_again_makes_two_silences(tmp_path: Path) -> None:
    score = dead_air(tmp_path, [(1.0, 2.0), (6.0, 7.0)], [(12.0, 13.0)])
    assert [each["broken_by"] for each in score.details["silences"]] == ["caller", "agent"]
    assert score.score == pytest.approx(5.0, abs=0.02)
    assert score.details["total_seconds"] == pytest.approx(9.0, abs=0.04)


def test_silence_that_the_caller_owes_is_not_the_agents(tmp_path: Path) -> None:
    score = dead_air(tmp_path, [(9.0, 10.0)], [(1.0, 2.0), (10.5, 12.0)])
    assert score.score == 0.0
    assert score.normalized_score == 1.0


def test_who_hangs_up_with_a_goodbye_waits_for_no_answer(tmp_path: Path) -> None:
    caller, agent = [(3.0, 4.0)], [(1.0, 2.0)]
    assert dead_air(tmp_path, caller, agent, seconds=8.0, ended="goodbye").score == 0.0
    unfinished = dead_air(tmp_path, caller, agent, seconds=8.0, ended="time_limit_exceeded")
    assert unfinished.score == pytest.approx(4.0, abs=0.02)


def test_a_goodbye_excuses_no_earlier_silence(tmp_path: Path) -> None:
    caller, agent = [(1.0, 2.0), (9.0, 10.0)], [(7.0, 8.0)]
    score = dead_air(tmp_path, caller, agent, seconds=14.0, ended="goodbye")
    assert score.score == pytest.approx(5.0, abs=0.02)
    assert len(score.details["silences"]) == 1


def test_after_a_barge_in_the_agent_owes_an_answer_once_it_is_silent(tmp_path: Path) -> None:
    score = dead_air(tmp_path, [(3.0, 4.0)], [(1.0, 6.0)])
    assert score.score == pytest.approx(14.0, abs=0.02)


def test_an_answer_that_interrupts_is_an_answer(tmp_path: Path) -> None:
    assert dead_air(tmp_path, [(1.0, 4.0)], [(3.0, 6.0)]).score == 0.0


def test_a_call_that_is_cut_right_after_a_turn_has_no_dead_air(tmp_path: Path) -> None:
    score = dead_air(tmp_path, [(1.0, 4.0)], [], seconds=5.0)
    assert (score.score, score.normalized_score) == (0.0, 1.0)
