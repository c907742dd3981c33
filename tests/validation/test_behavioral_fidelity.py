from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_calls import CLEAN_HZ, voiced_noise

from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.evaluation import Caller
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.behavioral_fidelity import score_behavioral_fidelity
from orchestrator_assets.validation.evidence import read_evidence

Follow = Callable[[int], Any]


def judge(record: Record, directory: Path, caller: Caller | None = None) -> MetricScore:
    score = score_behavioral_fidelity(record, read_evidence(directory, caller))
    json.dumps(score.model_dump(mode="json"), allow_nan=False)
    return score


def test_a_script_said_in_full_and_answered_passes(record: Record, follow_script: Follow) -> None:
    score = judge(record, follow_script(3).ends("goodbye"))
    assert score.score == 1.0
    assert [turn["said"] for turn in score.details["turns"]] == [True, True, True]
    second = score.details["turns"][1]
    assert (second["start_seconds"], second["end_seconds"]) == (5.0, 6.0)
    assert -30 < second["sound_dbfs"] < -5
    assert second["line_dbfs"] == pytest.approx(second["sound_dbfs"], abs=1)
    assert second["agent_spoke_before_seconds"] == pytest.approx(1.0, abs=0.1)
    assert second["entities"] == [{"text": "K7TQ2", "given": True}]
    assert score.details["complaints"] == []


def test_a_caller_that_hangs_up_before_its_last_turn_fails(
    record: Record, follow_script: Follow
) -> None:
    score = judge(record, follow_script(2).ends("goodbye"))
    assert score.score == 0.0
    assert score.details["reason"] == "the caller hung up before turn 2"
    assert score.details["turns"][2] == {"turn": 2, "text": "Is it done?", "said": False}


@pytest.mark.parametrize("reason", ["time_limit_exceeded", "inactivity_timeout", "agent_hangup"])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_the_first_turns_are_enough_when_someone_else_ended_the_call(
    record: Record, follow_script: Follow, turns: int, reason: str
) -> None:
    impatient = Caller(inactivity_timeout_seconds=5)
    score = judge(record, follow_script(turns).ends(reason), impatient)
    assert score.details["complaints"] == []
    assert score.score == 1.0


@pytest.mark.parametrize("reason", ["goodbye", "time_limit_exceeded"])
def test_a_turn_left_out_in_the_middle_fails(call: Any, record: Record, reason: str) -> None:
    call.caller_says(0, record.turns[0].say, at=1).agent_says(at=3)
    call.caller_says(2, record.turns[2].say, at=5).agent_says(at=7)
    score = judge(record, call.ends(reason))
    assert score.score == 0.0
    assert score.details["reason"] == "turn 1 was left out"


def test_a_turn_said_twice_fails(call: Any, record: Record, follow_script: Follow) -> None:
    follow_script(3).caller_says(1, record.turns[1].say, at=14)
    score = judge(record, call.ends("goodbye"))
    assert score.details["reason"] == "turn 1 was said 2 times"


def test_turns_in_another_order_fail(call: Any, record: Record) -> None:
    for at, turn in ((1, 0), (5, 2), (9, 1)):
        call.caller_says(turn, record.turns[turn].say, at=at).agent_says(at=at + 2)
    score = judge(record, call.ends("goodbye"))
    assert score.details["reason"] == "turn 1 was said after turn 2"


def test_a_turn_with_other_words_than_the_script_fails(call: Any, record: Record) -> None:
    call.caller_says(0, "I want my money back.", at=1)
    score = judge(record, call.ends("time_limit_exceeded"))
    assert score.score == 0.0
    assert "I want my money back." in score.details["reason"]


def test_a_wrong_entity_is_named_with_what_was_said_instead(call: Any, record: Record) -> None:
    call.agent_says(at=0.1).caller_says(0, record.turns[0].say, at=2).agent_says(at=4)
    call.caller_says(1, "My code is P9XW4.", at=6)
    score = judge(record, call.ends("time_limit_exceeded"))
    assert score.score == 0.0
    assert score.details["complaints"] == [
        {
            "rule": "wrong_entity",
            "reason": score.details["reason"],
            "turn": 1,
            "start_seconds": 6.0,
            "end_seconds": 7.0,
        }
    ]
    assert "(not said: K7TQ2; said instead: P9XW4)" in score.details["reason"]
    assert score.details["turns"][1]["entities"] == [{"text": "K7TQ2", "given": False}]


def test_every_complaint_is_listed_with_its_time(call: Any, record: Record) -> None:
    call.agent_says(at=0.1).caller_says(0, "I want my money back.", at=2)
    call.caller_says(2, record.turns[2].say, at=5, silent=True)
    score = judge(record, call.ends("time_limit_exceeded"))
    complaints = [
        (each["rule"], each.get("turn"), each.get("start_seconds"))
        for each in score.details["complaints"]
    ]
    assert complaints == [
        ("wrong_words", 0, 2.0),
        ("inaudible", 2, 5.0),
        ("inaudible", 2, 5.0),
        ("left_out", 1, None),
        ("unasked", 2, 5.0),
    ]


def test_a_turn_the_script_does_not_have_fails(call: Any, record: Record) -> None:
    score = judge(record, call.caller_says(7, "And?", at=1).ends("time_limit_exceeded"))
    assert "turn 7" in score.details["reason"]


def test_a_turn_that_is_silent_on_the_recording_fails(call: Any, record: Record) -> None:
    call.caller_says(0, record.turns[0].say, at=1, silent=True)
    score = judge(record, call.ends("time_limit_exceeded"))
    assert score.score == 0.0
    assert "audio_user_clean.wav is silent there" in score.details["reason"]
    assert score.details["turns"][0]["sound_dbfs"] is None


def test_a_turn_that_is_hardly_to_be_heard_was_said(call: Any, record: Record) -> None:
    whisper = (voiced_noise(1, CLEAN_HZ) * 0.005).astype(np.int16)
    call.agent_says(at=0.1).caller_says(0, record.turns[0].say, at=2, sound=whisper)
    score = judge(record, call.ends("time_limit_exceeded"))
    assert score.details["turns"][0]["sound_dbfs"] == pytest.approx(-68, abs=2)
    assert score.score == 1.0


def test_a_turn_that_is_silent_on_the_line_alone_fails(
    call: Any, record: Record, follow_script: Follow
) -> None:
    follow_script(1).on_the_line = lambda samples: samples * 0
    score = judge(record, call.ends("time_limit_exceeded"))
    assert score.details["reason"].endswith("but audio_user.wav is silent there")


def test_speech_that_is_none_of_the_turns_fails(
    call: Any, record: Record, follow_script: Follow
) -> None:
    follow_script(3)
    call.clean[15 * CLEAN_HZ : 16 * CLEAN_HZ] = voiced_noise(1, CLEAN_HZ)
    score = judge(record, call.ends("goodbye"))
    assert score.score == 0.0
    assert [each["rule"] for each in score.details["complaints"]] == ["unclaimed_speech"] * 2
    first = score.details["complaints"][0]
    assert (first["start_seconds"], first["end_seconds"]) == pytest.approx((15, 16), abs=0.1)
    assert {each["reason"].split(" has ")[0] for each in score.details["complaints"]} == {
        "audio_user_clean.wav",
        "audio_user.wav",
    }


@pytest.mark.parametrize("seconds", [0.02, 0.15])
def test_a_click_on_the_line_is_no_speech(
    call: Any, record: Record, follow_script: Follow, seconds: float
) -> None:
    follow_script(3)
    click = voiced_noise(seconds, CLEAN_HZ)
    call.clean[15 * CLEAN_HZ : 15 * CLEAN_HZ + click.size] = click
    assert judge(record, call.ends("goodbye")).score == 1.0


def test_what_was_being_said_when_someone_else_ended_the_call_need_not_be_claimed(
    call: Any, record: Record, follow_script: Follow
) -> None:
    follow_script(1)
    call.clean[19 * CLEAN_HZ :] = voiced_noise(1, CLEAN_HZ)
    assert judge(record, call.ends("time_limit_exceeded")).score == 1.0


def test_a_turn_the_caller_cut_off_itself_is_not_said(call: Any, record: Record) -> None:
    call.caller_says(0, record.turns[0].say, at=1, cut_off=True).agent_says(at=3)
    call.caller_says(1, record.turns[1].say, at=5).agent_says(at=7)
    score = judge(record, call.ends("time_limit_exceeded"))
    assert score.details["reason"] == "turn 0 was cut off"


def test_a_turn_cut_off_by_the_time_limit_is_not_held_against_the_caller(
    call: Any, record: Record, follow_script: Follow
) -> None:
    follow_script(1).caller_says(1, record.turns[1].say, at=19.5, cut_off=True)
    score = judge(record, call.ends("time_limit_exceeded"))
    assert score.score == 1.0
    assert [turn["said"] for turn in score.details["turns"]] == [True, False, False]


def test_hanging_up_before_the_last_question_is_answered_is_early(
    call: Any, record: Record, follow_script: Follow
) -> None:
    follow_script(2).caller_says(2, record.turns[2].say, at=9)
    score = judge(record, call.ends("goodbye"))
    assert score.score == 0.0
    assert score.details["reason"] == "the caller hung up before the agent had answered turn 2"


def test_a_farewell_needs_no_answer(call: Any) -> None:
    record = Record.model_validate({"id": "short", "turns": ["Stop calling me. Goodbye."]})
    call.agent_says(at=0.1).caller_says(0, record.turns[0].say, at=2)
    assert judge(record, call.ends("goodbye")).score == 1.0


def test_the_tail_of_what_the_agent_was_saying_is_no_answer(call: Any, record: Record) -> None:
    for index in (0, 1):
        call.caller_says(index, record.turns[index].say, at=1 + 4 * index)
    call.agent_says(at=8, seconds=2.1).caller_says(2, record.turns[2].say, at=9)
    assert judge(record, call.ends("goodbye")).score == 0.0


def test_a_missing_track_is_named(record: Record, follow_script: Follow) -> None:
    directory = follow_script(3).ends("goodbye")
    (directory / "audio_user_clean.wav").unlink()
    with pytest.raises(ConversationFileError, match=r"audio_user_clean\.wav: is missing"):
        read_evidence(directory)


def test_a_turn_without_its_times_is_named(call: Any, record: Record) -> None:
    call.caller_says(0, record.turns[0].say, at=1)
    del call.events[1]["data"]["end_seconds"]
    directory = call.ends("goodbye")
    with pytest.raises(ConversationFileError, match="user_speech event 2"):
        read_evidence(directory)
