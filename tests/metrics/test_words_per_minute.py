from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recorded_talks import AGENT_PITCH, recorded, said, talking
from told_calls import told_call

from orchestrator_assets.metrics.words_per_minute import WordsPerMinute, num_spoken_words


def test_the_rate_is_words_by_the_time_of_speech_alone(tmp_path: Path) -> None:
    talking(tmp_path, [(1.0, 3.0)], [(4.0, 5.0), (5.5, 6.5), (10.0, 11.0)])
    score = WordsPerMinute().compute(
        told_call(
            tmp_path,
            [
                ("caller", "not counted at all", 1.0, 3.0),
                ("agent", "one two three four five six", 4.0, 6.6),
                ("agent", "seven eight", 10.0, 11.1),
            ],
        )
    )
    assert score.score == pytest.approx(8 / 3 * 60, rel=0.01)
    assert score.normalized_score is None
    assert [each["num_words"] for each in score.details["utterances"]] == [6, 2]
    rates = [each["words_per_minute"] for each in score.details["utterances"]]
    assert rates == pytest.approx([180, 120], rel=0.02)


def test_speech_that_was_not_understood_does_not_slow_the_agent_down(tmp_path: Path) -> None:
    talking(tmp_path, [], [(4.0, 6.0), (10.0, 15.0)])
    score = WordsPerMinute().compute(told_call(tmp_path, [("agent", "a b c d", 4.0, 6.0)]))
    assert score.score == pytest.approx(120, rel=0.01)


def test_rows_without_a_length_are_taken_together(tmp_path: Path) -> None:
    talking(tmp_path, [], [(4.0, 6.0), (10.0, 14.0)])
    rows = [("agent", "a b c d", 4.0, 4.0), ("agent", "a b c d e", 10.0, 10.0)]
    score = WordsPerMinute().compute(told_call(tmp_path, rows))
    assert score.score == pytest.approx(9 / 6 * 60, rel=0.01)
    assert score.details["utterances"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [("Your code is K7TQ2.", 8), ("At 9:30 on Monday.", 5), ("Yes - of course!", 3), ("...", 0)],
)
def test_words_are_counted_as_they_are_said(text: str, words: int) -> None:
    assert num_spoken_words(text) == words


def test_a_real_voice_has_the_rate_it_was_synthesised_with(tmp_path: Path) -> None:
    text = "Parking is behind the house and the first hour is free."
    voice = said(text, AGENT_PITCH)
    track = np.zeros(80_000, dtype=np.int16)
    track[8_000 : 8_000 + voice.size] = voice
    recorded(tmp_path, np.zeros(80_000, dtype=np.int16), track)
    seconds = voice.size / 8_000
    row = ("agent", text, 1.0, 1.0 + seconds)
    score = WordsPerMinute().compute(told_call(tmp_path, [row]))
    assert score.score == pytest.approx(11 / seconds * 60, rel=0.02)


@pytest.mark.parametrize(
    ("agent", "rows", "reason"),
    [
        ([], [], "the agent never spoke"),
        ([(1.0, 2.0)], [], "the transcript has no words of the agent"),
        ([], [("agent", "words from nowhere", 1.0, 2.0)], "the agent never spoke"),
        ([(1.0, 2.0)], [("caller", "hello", 3.0, 4.0)], "the transcript has no words of the agent"),
    ],
)
def test_an_agent_that_said_nothing_is_skipped(
    tmp_path: Path,
    agent: list[tuple[float, float]],
    rows: list[tuple[str, str, float, float]],
    reason: str,
) -> None:
    talking(tmp_path, [(3.0, 4.0)], agent)
    score = WordsPerMinute().compute(told_call(tmp_path, rows))
    assert score.skipped
    assert score.details["reason"] == reason
