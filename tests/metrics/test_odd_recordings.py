"""What every metric of the recordings makes of calls that went oddly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recorded_talks import recorded, speaking_track, with_noise

from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.metrics.agent_interruptions import AgentInterruptions
from orchestrator_assets.metrics.base import Metric, MetricScore
from orchestrator_assets.metrics.caller_interruptions import CallerInterruptions
from orchestrator_assets.metrics.dead_air import DeadAir
from orchestrator_assets.metrics.response_latency import ResponseLatency
from orchestrator_assets.metrics.talk_over import TalkOver
from orchestrator_assets.metrics.talk_ratio import TalkRatio
from orchestrator_assets.metrics.turn_taking import TurnTaking
from orchestrator_assets.metrics.yielding import Yielding

METRICS: tuple[type[Metric], ...] = (
    AgentInterruptions,
    CallerInterruptions,
    DeadAir,
    ResponseLatency,
    TalkOver,
    TalkRatio,
    TurnTaking,
    Yielding,
)
NOTHING = np.zeros(0, dtype=np.int16)
SILENCE = np.zeros(96_000, dtype=np.int16)
GOOD_CALLER, GOOD_AGENT = [(3.0, 4.5), (8.0, 9.0)], [(0.5, 2.0), (5.2, 7.0), (9.7, 11.0)]
GOOD_SCORES = {
    "agent_interruptions": 0,
    "caller_interruptions": 0,
    "dead_air": 0,
    "response_latency": 0.7,
    "talk_over": 0,
    "talk_ratio": 4.6 / 7.1,
    "turn_taking": 1,
}


def measured(directory: Path, caller: Samples, agent: Samples) -> dict[str, MetricScore]:
    conversation = recorded(directory, caller, agent)
    return {metric.name: metric().compute(conversation) for metric in METRICS}


def check(scores: dict[str, MetricScore], expected: dict[str, float]) -> None:
    """What is not expected to have a score is skipped, and says why."""
    found = {name: score.score for name, score in scores.items() if not score.skipped}
    assert found == pytest.approx(expected, abs=0.03)
    assert all(score.details["reason"] for score in scores.values() if score.skipped)


def tracks(
    caller: list[tuple[float, float]], agent: list[tuple[float, float]], seconds: float = 12.0
) -> tuple[Samples, Samples]:
    return speaking_track(caller, seconds), speaking_track(agent, seconds)


def test_a_good_call_is_good(tmp_path: Path) -> None:
    check(measured(tmp_path, *tracks(GOOD_CALLER, GOOD_AGENT)), GOOD_SCORES)


@pytest.mark.parametrize(
    "silence",
    [
        pytest.param(NOTHING, id="tracks without a sample"),
        pytest.param(np.zeros(10, dtype=np.int16), id="tracks shorter than a frame"),
        pytest.param(SILENCE, id="digital silence"),
        pytest.param(with_noise(SILENCE, -60.0), id="noise on the line"),
        pytest.param(with_noise(SILENCE, -45.0), id="loud noise on the line"),
    ],
)
def test_where_nobody_speaks_all_is_skipped(tmp_path: Path, silence: Samples) -> None:
    check(measured(tmp_path, silence, silence), {})


def test_a_caller_that_gets_no_answer_at_all(tmp_path: Path) -> None:
    check(
        measured(tmp_path, *tracks([(2.0, 3.0)], [])),
        {"dead_air": 9.0, "talk_ratio": 0, "turn_taking": 0},
    )


def test_an_agent_that_speaks_alone(tmp_path: Path) -> None:
    check(measured(tmp_path, *tracks([], [(2.0, 3.0)])), {"talk_ratio": 1})


def test_a_call_that_ends_while_the_agent_speaks(tmp_path: Path) -> None:
    caller, agent = tracks(GOOD_CALLER, [*GOOD_AGENT[:2], (9.7, 12.0)])
    check(measured(tmp_path, caller, agent), {**GOOD_SCORES, "talk_ratio": 5.6 / 8.1})


def test_a_call_that_is_cut_while_the_caller_speaks(tmp_path: Path) -> None:
    caller, agent = tracks([GOOD_CALLER[0], (8.0, 12.0)], GOOD_AGENT[:2])
    check(measured(tmp_path, caller, agent), {**GOOD_SCORES, "talk_ratio": 3.3 / 8.8})


def test_an_agent_that_speaks_from_the_first_sample(tmp_path: Path) -> None:
    caller, agent = tracks(GOOD_CALLER, [(0.0, 2.0), *GOOD_AGENT[1:]])
    check(measured(tmp_path, caller, agent), {**GOOD_SCORES, "talk_ratio": 5.1 / 7.6})


def test_a_track_that_ends_early_is_silent_from_there(tmp_path: Path) -> None:
    caller, agent = tracks(GOOD_CALLER, GOOD_AGENT)
    scores = measured(tmp_path, caller, agent[:64_000])
    check(scores, {**GOOD_SCORES, "dead_air": 0, "talk_ratio": 3.3 / 5.8, "turn_taking": 0.5})


@pytest.mark.parametrize("noise_dbfs", [-70.0, -60.0, -50.0])
def test_noise_on_the_line_changes_no_score(tmp_path: Path, noise_dbfs: float) -> None:
    caller, agent = tracks(GOOD_CALLER, GOOD_AGENT)
    noisy = with_noise(caller, noise_dbfs, 1), with_noise(agent, noise_dbfs, 2)
    check(measured(tmp_path, *noisy), GOOD_SCORES)


def test_noise_that_begins_with_the_agent_is_not_its_voice(tmp_path: Path) -> None:
    caller, agent = tracks(GOOD_CALLER, [(2.0, 2.5), *GOOD_AGENT[1:]])
    noise = with_noise(np.zeros_like(agent), -55.0)
    noise[:3_000] = 0
    scores = measured(tmp_path, caller, (agent + noise).astype(np.int16))
    assert scores["talk_ratio"].details["agent_speech_seconds"] == pytest.approx(3.6, abs=0.04)


def test_a_quiet_agent_is_heard(tmp_path: Path) -> None:
    caller, agent = tracks(GOOD_CALLER, GOOD_AGENT)
    check(measured(tmp_path, caller, (agent * 0.1).astype(np.int16)), GOOD_SCORES)


def test_very_short_back_channels_change_no_turn(tmp_path: Path) -> None:
    caller, agent = tracks([*GOOD_CALLER, (6.0, 6.2)], [*GOOD_AGENT, (3.6, 3.8)])
    check(
        measured(tmp_path, caller, agent),
        {**GOOD_SCORES, "talk_over": 0.4, "talk_ratio": 4.8 / 7.5},
    )
