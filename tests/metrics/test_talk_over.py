from __future__ import annotations

from pathlib import Path

import pytest
from recorded_talks import talking

from orchestrator_assets.metrics.talk_over import TalkOver


def test_the_time_in_which_both_speak_is_summed_up(tmp_path: Path) -> None:
    caller, agent = [(1.0, 4.0), (8.0, 10.0)], [(3.0, 5.0), (7.0, 8.5)]
    score = TalkOver().compute(talking(tmp_path, caller, agent))
    assert score.score == pytest.approx(1.5, abs=0.03)
    assert score.normalized_score == pytest.approx(1 - 1.5 / 5, abs=0.01)
    first, second = score.details["stretches"]
    assert first["start_seconds"] == pytest.approx(3.0, abs=0.02)
    assert first["end_seconds"] == pytest.approx(4.0, abs=0.02)
    assert [first["first"], second["first"]] == ["caller", "agent"]


def test_back_channels_talk_over_too(tmp_path: Path) -> None:
    score = TalkOver().compute(talking(tmp_path, [(1.0, 5.0)], [(2.0, 2.2)]))
    assert score.score == pytest.approx(0.2, abs=0.03)


def test_a_pause_of_the_caller_is_not_talked_over(tmp_path: Path) -> None:
    score = TalkOver().compute(talking(tmp_path, [(1.0, 2.0), (2.7, 4.0)], [(2.1, 2.6)]))
    assert (score.score, score.normalized_score) == (0.0, 1.0)


def test_speaking_in_turns_is_no_talking_over(tmp_path: Path) -> None:
    score = TalkOver().compute(talking(tmp_path, [(1.0, 2.0)], [(2.0, 4.0)]))
    assert (score.score, score.details["stretches"]) == (0.0, [])


def test_both_speaking_all_the_time_leaves_nothing(tmp_path: Path) -> None:
    score = TalkOver().compute(talking(tmp_path, [(1.0, 4.0)], [(1.0, 4.0)]))
    assert score.normalized_score == 0.0
    assert score.details["stretches"][0]["first"] == "both"
