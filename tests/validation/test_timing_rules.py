"""When a scripted caller may speak and hang up: each rule, and what looks like a breach of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_calls import AGENT_HZ, RecordedCall

from orchestrator_assets.evaluation import Caller
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.behavioral_fidelity import score_behavioral_fidelity
from orchestrator_assets.validation.evidence import read_evidence


def script(*turns: Any) -> Record:
    return Record.model_validate({"id": "a", "turns": turns})


def barge_in(text: str, after_seconds: float) -> dict[str, Any]:
    return {"say": text, "barge_in_after_seconds": after_seconds}


def judge(record: Record, directory: Path, **caller: Any) -> MetricScore:
    return score_behavioral_fidelity(record, read_evidence(directory, Caller(**caller)))


def breaches(score: MetricScore) -> list[tuple[str, int | None]]:
    return [(each["rule"], each.get("turn")) for each in score.details["complaints"]]


GREETS = script("Hello.", "Goodbye.")


def test_a_turn_after_which_the_agent_said_nothing_is_not_answered(call: RecordedCall) -> None:
    call.agent_says(at=0.5).caller_says(0, "Hello.", at=3).caller_says(1, "Goodbye.", at=6)
    score = judge(GREETS, call.agent_says(at=8).ends("goodbye"))
    assert breaches(score) == [("unasked", 1)]
    assert score.details["reason"] == (
        "turn 1 began at 6.00 s, though the agent had said nothing since 4.00 s"
    )
    complaint = score.details["complaints"][0]
    assert (complaint["start_seconds"], complaint["end_seconds"]) == (6.0, 7.0)


@pytest.mark.parametrize(("seconds", "gain"), [(0.1, 1.0), (1.0, 0.01)])
def test_a_click_or_a_murmur_of_the_agent_is_nothing_to_answer(
    call: RecordedCall, seconds: float, gain: float
) -> None:
    call.agent_says(at=0.5).caller_says(0, "Hello.", at=3).agent_says(at=4.5, seconds=seconds)
    call.agent[4 * AGENT_HZ : 6 * AGENT_HZ] = call.agent[4 * AGENT_HZ : 6 * AGENT_HZ] * gain
    call.caller_says(1, "Goodbye.", at=7).agent_says(at=9)
    assert breaches(judge(GREETS, call.ends("goodbye"))) == [("unasked", 1)]


def test_an_agent_that_speaks_softly_is_answered_all_the_same(call: RecordedCall) -> None:
    call.agent_says(at=0.5).caller_says(0, "Hello.", at=3).agent_says(at=5)
    call.agent = (call.agent * 0.1).astype(np.int16)
    call.caller_says(1, "Goodbye.", at=7)
    assert breaches(judge(GREETS, call.ends("goodbye"))) == []


def test_what_the_agent_said_during_the_turn_before_is_not_what_the_next_one_answers(
    call: RecordedCall,
) -> None:
    call.agent_says(at=0.5).caller_says(0, "Hello.", at=3, seconds=2).agent_says(at=3.5)
    call.caller_says(1, "Goodbye.", at=6.5).agent_says(at=9)
    assert breaches(judge(GREETS, call.ends("goodbye"))) == [("unasked", 1)]


def test_a_caller_that_does_not_wait_for_a_greeting_speaks_unasked(call: RecordedCall) -> None:
    call.caller_says(0, "Hello.", at=1).agent_says(at=3).caller_says(1, "Goodbye.", at=5)
    score = judge(GREETS, call.ends("goodbye"))
    assert breaches(score) == [("unasked", 0)]
    assert "the caller speaks first after 4 s" in score.details["reason"]


def test_a_caller_that_nobody_greets_may_speak_first(call: RecordedCall) -> None:
    call.caller_says(0, "Hello.", at=4).agent_says(at=6).caller_says(1, "Goodbye.", at=8)
    directory = call.ends("goodbye")
    assert breaches(judge(GREETS, directory)) == []
    assert breaches(judge(GREETS, directory, speaks_first_after_seconds=6)) == [("unasked", 0)]


def test_only_the_first_turn_may_come_unasked_after_a_while(call: RecordedCall) -> None:
    call.agent_says(at=0.1).caller_says(0, "Hello.", at=2).caller_says(1, "Goodbye.", at=12)
    assert breaches(judge(GREETS, call.ends("goodbye"))) == [("unasked", 1)]


def test_speaking_into_the_agents_speech_is_a_breach_where_no_script_tells_it(
    call: RecordedCall,
) -> None:
    call.agent_says(at=0.5, seconds=4).caller_says(0, "Hello.", at=2).agent_says(at=6)
    call.caller_says(1, "Goodbye.", at=9)
    score = judge(GREETS, call.ends("goodbye"))
    assert breaches(score) == [("interrupted_the_agent", 0)]
    assert "1.50 s into the agent's speech" in score.details["reason"]


def test_an_agent_that_goes_on_when_its_turn_seemed_over_was_not_interrupted(
    call: RecordedCall,
) -> None:
    call.agent_says(at=0.5).agent_says(at=2.4, seconds=3).caller_says(0, "Hello.", at=2.5)
    call.agent_says(at=6).caller_says(1, "Goodbye.", at=9)
    assert breaches(judge(GREETS, call.ends("goodbye"))) == []


@pytest.mark.parametrize("after_seconds", [0.0, 1.0])
def test_a_barge_in_may_come_into_the_agents_speech(
    call: RecordedCall, after_seconds: float
) -> None:
    record = script(barge_in("Hello.", after_seconds), "Goodbye.")
    call.agent_says(at=0.5, seconds=3).caller_says(0, "Hello.", at=0.58 + after_seconds)
    call.agent_says(at=5).caller_says(1, "Goodbye.", at=8)
    assert breaches(judge(record, call.ends("goodbye"))) == []


def test_a_barge_in_that_comes_too_soon_is_a_breach(call: RecordedCall) -> None:
    record = script(barge_in("Hello.", 2.0), "Goodbye.")
    call.agent_says(at=0.5, seconds=4).caller_says(0, "Hello.", at=1.5)
    call.agent_says(at=6).caller_says(1, "Goodbye.", at=9)
    assert breaches(judge(record, call.ends("goodbye"))) == [("interrupted_the_agent", 0)]


def test_a_barge_in_that_waits_for_the_agent_to_end_is_missed(call: RecordedCall) -> None:
    record = script(barge_in("Hello.", 1.0), "Goodbye.")
    call.agent_says(at=0.5, seconds=3).caller_says(0, "Hello.", at=4.5)
    call.agent_says(at=6).caller_says(1, "Goodbye.", at=9)
    score = judge(record, call.ends("goodbye"))
    assert breaches(score) == [("missed_barge_in", 0)]
    assert "was to begin 1 s into the agent's speech, but began 1.0" in score.details["reason"]


def test_a_barge_in_on_an_agent_that_says_nothing_is_unasked(call: RecordedCall) -> None:
    record = script("Hello.", barge_in("Wait!", 1.0))
    call.agent_says(at=0.1).caller_says(0, "Hello.", at=2).caller_says(1, "Wait!", at=5)
    assert breaches(judge(record, call.ends("goodbye"))) == [("unasked", 1)]


def test_an_agent_that_is_brief_is_replied_to_instead_of_interrupted(call: RecordedCall) -> None:
    record = script(barge_in("Hello.", 4.0), "Goodbye.")
    call.agent_says(at=0.5, seconds=1).caller_says(0, "Hello.", at=2.5)
    call.agent_says(at=4).caller_says(1, "Goodbye.", at=6)
    assert breaches(judge(record, call.ends("goodbye"))) == []


def test_hanging_up_right_after_a_request_leaves_the_agent_no_chance_to_act(
    call: RecordedCall,
) -> None:
    record = script("Please cancel it.")
    call.duration_seconds = 5.0
    call.clean, call.agent = call.clean[: 5 * 16_000], call.agent[: 5 * AGENT_HZ]
    call.agent_says(at=0.5).caller_says(0, "Please cancel it.", at=3)
    score = judge(record, call.ends("goodbye"))
    assert breaches(score) == [("hung_up_early", 0)]
    assert score.details["reason"] == (
        "the caller hung up 1.00 s after turn 0, before the agent had answered it"
    )
    complaint = score.details["complaints"][0]
    assert (complaint["start_seconds"], complaint["end_seconds"]) == (4.0, 5.0)


def test_a_caller_may_hang_up_when_no_farewell_came_for_so_long(call: RecordedCall) -> None:
    call.agent_says(at=0.5).caller_says(0, "Goodbye.", at=3)
    directory = call.ends("goodbye")
    assert breaches(judge(script("Goodbye."), directory, farewell_wait_seconds=16)) == []
    assert breaches(judge(script("Goodbye."), directory, farewell_wait_seconds=17)) == [
        ("hung_up_early", 0)
    ]


def test_hanging_up_while_the_agent_speaks_is_early(call: RecordedCall) -> None:
    call.agent_says(at=0.5).caller_says(0, "Please cancel it.", at=3)
    call.agent_says(at=16, seconds=3.9)
    score = judge(script("Please cancel it."), call.ends("goodbye"))
    assert breaches(score) == [("hung_up_early", None)]
    assert score.details["reason"] == (
        "the caller hung up at 20.00 s, while the agent was speaking"
    )


def test_an_answer_followed_by_the_end_of_turn_silence_is_enough(call: RecordedCall) -> None:
    call.agent_says(at=0.5).caller_says(0, "Please cancel it.", at=3)
    call.agent_says(at=17, seconds=2.18)
    assert breaches(judge(script("Please cancel it."), call.ends("goodbye"))) == []


def test_an_agent_given_up_too_soon_is_not_to_blame(call: RecordedCall) -> None:
    call.agent_says(at=0.5).caller_says(0, "Hello.", at=8)
    directory = call.ends("inactivity_timeout")
    score = judge(GREETS, directory)
    assert breaches(score) == [("gave_up_early", None)]
    assert score.details["complaints"][0]["start_seconds"] == 9.0
    assert "after 11.00 s of silence (its inactivity timeout is 15 s)" in score.details["reason"]
    assert breaches(judge(GREETS, directory, inactivity_timeout_seconds=11)) == []


def test_an_agent_that_can_hardly_be_heard_counts_as_silent(call: RecordedCall) -> None:
    call.agent_says(at=0.5).caller_says(0, "Hello.", at=2).agent_says(at=15)
    murmur = call.agent[14 * AGENT_HZ :]
    call.agent[14 * AGENT_HZ :] = (murmur * 0.01).astype(np.int16)
    score = judge(GREETS, call.ends("inactivity_timeout"))
    assert breaches(score) == []
