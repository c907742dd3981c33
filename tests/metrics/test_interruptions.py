from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recorded_talks import AGENT_PITCH, CALLER_PITCH, recorded, said, talking

from orchestrator_assets.metrics.agent_interruptions import AgentInterruptions
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.caller_interruptions import CallerInterruptions
from orchestrator_assets.metrics.yielding import Yielding

Spans = list[tuple[float, float]]


def test_an_agent_that_begins_in_the_middle_of_a_turn_interrupts_it(tmp_path: Path) -> None:
    caller, agent = [(1.0, 4.0), (8.0, 9.0)], [(2.5, 5.5), (10.0, 11.0)]
    score = AgentInterruptions().compute(talking(tmp_path, caller, agent))
    assert (score.score, score.normalized_score) == (1, 0.5)
    (interruption,) = score.details["interruptions"]
    assert interruption["turn"] == 0
    assert interruption["at_seconds"] == pytest.approx(2.5, abs=0.02)
    assert interruption["until_seconds"] == pytest.approx(5.5, abs=0.02)
    assert interruption["overlap_seconds"] == pytest.approx(1.5, abs=0.02)
    assert not interruption["in_pause"]


def test_an_agent_that_takes_a_pause_for_the_end_of_the_turn_interrupts(tmp_path: Path) -> None:
    score = AgentInterruptions().compute(
        talking(tmp_path, [(1.0, 2.0), (2.7, 4.0)], [(2.5, 3.3), (5.0, 6.0)])
    )
    (interruption,) = score.details["interruptions"]
    assert interruption["in_pause"]
    assert interruption["overlap_seconds"] == pytest.approx(0.6, abs=0.02)


def test_every_interruption_of_a_turn_counts_and_the_turn_once(tmp_path: Path) -> None:
    caller, agent = [(1.0, 7.0), (10.0, 11.0)], [(2.0, 3.0), (4.5, 5.5), (12.0, 13.0)]
    score = AgentInterruptions().compute(talking(tmp_path, caller, agent))
    assert (score.score, score.normalized_score) == (2, 0.5)


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param([(4.5, 6.0)], id="after the turn"),
        pytest.param([(3.8, 6.0)], id="at its very end"),
        pytest.param([(1.1, 6.0)], id="at the same time"),
        pytest.param([(2.5, 2.7)], id="a back-channel of 0.2 s"),
        pytest.param([(0.2, 6.0)], id="before the turn"),
    ],
)
def test_what_is_no_interruption_of_the_caller(tmp_path: Path, agent: Spans) -> None:
    score = AgentInterruptions().compute(talking(tmp_path, [(1.0, 4.0)], agent))
    assert (score.score, score.normalized_score) == (0, 1.0)
    assert score.details["interruptions"] == []


def test_back_channels_of_the_agent_are_counted_apart(tmp_path: Path) -> None:
    score = AgentInterruptions().compute(
        talking(tmp_path, [(1.0, 6.0)], [(2.0, 2.2), (4.0, 4.3), (7.0, 8.0)])
    )
    assert (score.score, score.details["num_backchannels"]) == (0, 2)


def test_a_caller_that_begins_while_the_agent_speaks_barges_in(tmp_path: Path) -> None:
    caller, agent = [(3.0, 5.0), (9.0, 10.0)], [(1.0, 3.4), (6.0, 7.0), (11.0, 12.0)]
    score = CallerInterruptions().compute(talking(tmp_path, caller, agent))
    assert (score.score, score.normalized_score) == (1, None)
    (interruption,) = score.details["interruptions"]
    assert interruption["at_seconds"] == pytest.approx(3.0, abs=0.02)
    assert interruption["agent_silent_seconds"] == pytest.approx(3.4, abs=0.02)


@pytest.mark.parametrize(
    "caller",
    [
        pytest.param([(4.2, 5.0)], id="after the agent"),
        pytest.param([(2.5, 2.7)], id="a back-channel of 0.2 s"),
        pytest.param([(1.1, 3.0)], id="at the same time"),
        pytest.param([(0.2, 3.0)], id="before the agent"),
    ],
)
def test_what_is_no_interruption_of_the_agent(tmp_path: Path, caller: Spans) -> None:
    score = CallerInterruptions().compute(talking(tmp_path, caller, [(1.0, 4.0)]))
    assert (score.score, score.details["interruptions"]) == (0, [])


def yielding(directory: Path, caller: Spans, agent: Spans, seconds: float = 20.0) -> MetricScore:
    return Yielding().compute(talking(directory, caller, agent, seconds=seconds))


def test_yielding_is_how_long_the_agent_talks_on(tmp_path: Path) -> None:
    caller, agent = [(3.0, 5.0), (9.0, 11.0)], [(1.0, 3.4), (6.0, 10.0)]
    score = yielding(tmp_path, caller, agent)
    assert score.score == pytest.approx(0.7, abs=0.02)
    assert score.normalized_score == pytest.approx((0.8 + 0.5) / 2, abs=0.02)
    assert [each["yielded"] for each in score.details["barge_ins"]] == [True, True]
    assert score.details["num_not_yielded"] == 0


def test_an_agent_that_says_all_it_had_to_say_has_not_yielded(tmp_path: Path) -> None:
    score = yielding(tmp_path, [(3.0, 5.0)], [(1.0, 8.0)])
    assert score.score == pytest.approx(5.0, abs=0.02)
    assert score.normalized_score == 0.0
    assert score.details["barge_ins"][0]["yielded"] is False
    assert score.details["num_not_yielded"] == 1


def test_a_pause_between_the_agents_sentences_is_no_yielding(tmp_path: Path) -> None:
    score = yielding(tmp_path, [(3.0, 6.0)], [(1.0, 3.5), (4.1, 5.8)])
    assert score.score == pytest.approx(2.8, abs=0.02)
    assert score.details["num_not_yielded"] == 1


def test_an_answer_right_after_the_caller_is_no_talking_on(tmp_path: Path) -> None:
    score = yielding(tmp_path, [(3.0, 3.9)], [(1.0, 3.5), (4.1, 6.0)])
    assert score.score == pytest.approx(0.5, abs=0.02)


def test_who_began_at_the_same_time_has_to_yield_too(tmp_path: Path) -> None:
    score = yielding(tmp_path, [(3.0, 5.0)], [(3.1, 4.1)])
    assert score.score == pytest.approx(1.0, abs=0.02)
    assert score.details["barge_ins"][0]["collision"]


def test_a_barge_in_that_the_end_of_the_call_cuts_short_tells_nothing(tmp_path: Path) -> None:
    score = yielding(tmp_path, [(3.0, 3.5)], [(1.0, 3.5)], seconds=3.5)
    assert score.skipped
    assert score.details["num_cut_by_the_end"] == 1
    assert score.details["barge_ins"][0]["yielded"] is None


def test_an_agent_that_talks_until_the_call_ends_has_not_yielded(tmp_path: Path) -> None:
    score = yielding(tmp_path, [(3.0, 5.0)], [(1.0, 7.0)], seconds=7.0)
    assert score.normalized_score == 0.0


def test_without_a_barge_in_yielding_is_skipped(tmp_path: Path) -> None:
    score = yielding(tmp_path, [(3.0, 5.0)], [(1.0, 2.5), (6.0, 7.0)])
    assert score.skipped
    assert score.details["reason"] == "the caller never barged in"


def test_a_real_voice_that_is_cut_off_is_timed_to_20_ms(tmp_path: Path) -> None:
    agent_voice = said("Parking is behind the house, and the first hour is free.", AGENT_PITCH)
    caller_voice = said("Sorry, I want to cancel my appointment.", CALLER_PITCH)
    agent, caller = (np.zeros(80_000, dtype=np.int16) for _ in range(2))
    barge_in, silent = 14_321, 18_560
    agent[8_000:silent] = agent_voice[: silent - 8_000]
    caller[barge_in : barge_in + caller_voice.size] = caller_voice
    conversation = recorded(tmp_path, caller, agent)
    score = Yielding().compute(conversation)
    assert score.score == pytest.approx((silent - barge_in) / 8_000, abs=0.02)
    (interruption,) = CallerInterruptions().compute(conversation).details["interruptions"]
    assert interruption["at_seconds"] == pytest.approx(barge_in / 8_000, abs=0.02)


def test_a_real_voice_that_interrupts_is_timed_to_20_ms(tmp_path: Path) -> None:
    caller_voice = said("I would like to move my appointment to next Thursday.", CALLER_PITCH)
    agent_voice = said("Certainly. What is your booking code?", AGENT_PITCH)
    agent, caller = (np.zeros(80_000, dtype=np.int16) for _ in range(2))
    caller[8_000 : 8_000 + caller_voice.size] = caller_voice
    agent[15_003 : 15_003 + agent_voice.size] = agent_voice
    (interruption,) = (
        AgentInterruptions().compute(recorded(tmp_path, caller, agent)).details["interruptions"]
    )
    assert interruption["at_seconds"] == pytest.approx(15_003 / 8_000, abs=0.02)
    assert interruption["turn_end_seconds"] == pytest.approx(
        (8_000 + caller_voice.size) / 8_000, abs=0.02
    )
