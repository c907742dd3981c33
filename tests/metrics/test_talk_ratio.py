from __future__ import annotations

from pathlib import Path

import pytest
from recorded_talks import talking

from orchestrator_assets.metrics.talk_ratio import TalkRatio


def test_the_ratio_is_the_agents_share_of_all_speech(tmp_path: Path) -> None:
    caller, agent = [(1.0, 2.0), (10.0, 11.0)], [(3.0, 9.0)]
    score = TalkRatio().compute(talking(tmp_path, caller, agent))
    assert score.score == pytest.approx(6 / 8, abs=0.01)
    assert score.normalized_score is None
    assert score.details["agent_speech_seconds"] == pytest.approx(6.0, abs=0.02)


def test_pauses_are_no_speech_and_overlap_counts_for_both(tmp_path: Path) -> None:
    caller, agent = [(1.0, 3.0)], [(2.0, 4.0), (4.6, 6.6)]
    score = TalkRatio().compute(talking(tmp_path, caller, agent))
    assert score.score == pytest.approx(4 / 6, abs=0.01)


@pytest.mark.parametrize(
    ("caller", "agent", "ratio"), [([(1.0, 2.0)], [], 0), ([], [(1.0, 2.0)], 1)]
)
def test_who_speaks_alone_has_all_of_it(
    tmp_path: Path, caller: list[tuple[float, float]], agent: list[tuple[float, float]], ratio: int
) -> None:
    assert TalkRatio().compute(talking(tmp_path, caller, agent)).score == ratio
