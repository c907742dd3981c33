"""The true latency of a call, and how far a measured one is from it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import soundfile

from orchestrator_assets.doctor.latency import LatencyErrors, TurnLatency, turn_latencies
from orchestrator_assets.metrics.base import MetricScore

SOUND_ENDS = (1.49, 4.0)
TURNS = ((1.0, 1.5), (3.0, 4.0))
REPORTED = ((2.0, 2.3), (4.5, 4.8))


@pytest.fixture
def call(tmp_path: Path) -> Path:
    """Two caller turns; the frame at the end of the first is not full. The agent thinks 0.3 s."""
    track = np.zeros(8_000 * 6, dtype=np.int16)
    for (start, _), end in zip(TURNS, SOUND_ENDS, strict=True):
        track[round(start * 8_000) : round(end * 8_000)] = 2_000
    soundfile.write(tmp_path / "audio_user.wav", track, 8_000)
    events = [
        {
            "type": "user_speech",
            "sequence": index,
            "data": {"text": "Hm.", "turn": index, "start_seconds": start, "end_seconds": end},
        }
        for index, (start, end) in enumerate(TURNS)
    ]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (tmp_path / "user_simulator_events.jsonl").write_text(lines, encoding="utf-8")
    report(tmp_path, REPORTED)
    return tmp_path


def report(directory: Path, turns: tuple[tuple[float, float | None], ...]) -> None:
    rows = [{"ended_seconds": ended, "replied_seconds": replied} for ended, replied in turns]
    path = directory / "agent_call_report.json"
    path.write_text(json.dumps({"turns": rows}), encoding="utf-8")


def measured(*latencies: float | None) -> MetricScore:
    rows = [
        {"end_seconds": end, "latency_seconds": latency}
        for end, latency in zip(SOUND_ENDS, latencies, strict=True)
    ]
    return MetricScore(name="response_latency", score=0.8, details={"per_turn": rows})


def test_it_is_from_the_last_sample_the_caller_was_given_to_the_first_the_agent_sent(
    call: Path,
) -> None:
    first, second = turn_latencies(call, 0.3, measured(0.825, 0.79))
    assert (first.end_seconds, second.end_seconds) == SOUND_ENDS
    assert first.true_seconds == pytest.approx(2.3 - 1.49)
    assert second.true_seconds == pytest.approx(4.8 - 4.0)
    assert first.error_seconds == pytest.approx(0.015)
    assert second.error_seconds == pytest.approx(0.01)


def test_a_turn_that_was_never_answered_has_none(call: Path) -> None:
    report(call, (REPORTED[0], (4.5, None)))
    assert [each.turn for each in turn_latencies(call, 0.3, measured(0.8, 0.8))] == [0]


def test_an_answered_turn_that_was_not_measured_is_counted_and_not_averaged(call: Path) -> None:
    errors = LatencyErrors(tuple(turn_latencies(call, 0.3, measured(0.825, None))))
    assert (len(errors.turns), errors.not_measured) == (2, 1)
    assert errors.max_seconds == pytest.approx(0.015)
    assert list(errors.shortcomings(0.02)) == ["response_latency has no value for 1 of 2 turns"]


def test_without_a_score_nothing_was_measured(call: Path) -> None:
    errors = LatencyErrors(tuple(turn_latencies(call, 0.3, None)))
    assert errors.not_measured == 2
    assert errors.mean_seconds is None
    assert math.isinf(errors.turns[0].error_seconds)


def test_an_agent_that_did_not_wait_as_it_was_told_is_no_truth(call: Path) -> None:
    with pytest.raises(ValueError, match=r"was to think for 0\.5 s"):
        turn_latencies(call, 0.5, measured(0.8, 0.8))


def test_the_largest_error_decides() -> None:
    turns = [TurnLatency(0, 1.0, 0.8, 0.8), TurnLatency(1, 2.0, 0.8, 0.83)]
    errors = LatencyErrors(tuple(turns))
    assert errors.mean_seconds == pytest.approx(0.015)
    assert list(errors.shortcomings(0.031)) == []
    (shortcoming,) = errors.shortcomings(0.02)
    assert shortcoming == "response_latency is off by up to 30 ms, more than 20 ms"
