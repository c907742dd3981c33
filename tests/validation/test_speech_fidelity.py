from __future__ import annotations

from typing import Any

import pytest

from orchestrator_assets.call.speech.base import Samples, SpeechToText, TextToSpeech, Voice
from orchestrator_assets.evaluation import SpeechFidelityThresholds
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.evidence import read_evidence
from orchestrator_assets.validation.speech_fidelity import score_speech_fidelity, speaks_as_meant


class Hearing:
    """Hears a given text, turn by turn."""

    sample_rate_hz = 8_000

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.heard_seconds: list[float] = []

    def transcribe(self, samples: Samples) -> str:
        self.heard_seconds.append(samples.size / self.sample_rate_hz)
        return self.texts.pop(0)


def judge(record: Record, call: Any, reason: str, hearing: SpeechToText) -> MetricScore:
    evidence = read_evidence(call.ends(reason))
    return score_speech_fidelity(record, evidence, hearing, SpeechFidelityThresholds())


def test_turns_heard_as_meant_are_rated_best(record: Record, follow_script: Any) -> None:
    hearing = Hearing("i want to change my flight", "My code is K 7 T Q 2", "Is it done?")
    score = judge(record, follow_script(3), "goodbye", hearing)
    assert (score.score, score.normalized_score) == (3.0, 1.0)
    assert score.details["per_turn_ratings"] == {"0": 3, "1": 3, "2": 3}
    assert speaks_as_meant(score)
    assert hearing.heard_seconds == pytest.approx([1.2, 1.2, 1.2], abs=0.01)


def test_one_turn_with_other_words_fails_and_is_quoted(record: Record, follow_script: Any) -> None:
    hearing = Hearing("I want to change my flight.", "My code is P9XW4.", "Is it done?")
    score = judge(record, follow_script(3), "goodbye", hearing)
    assert not speaks_as_meant(score)
    assert score.score == pytest.approx(7 / 3, abs=0.001)
    assert score.normalized_score == pytest.approx(2 / 3, abs=0.001)
    assert score.details["reason"].startswith(
        "turn 1 rated 1: meant 'My code is K7TQ2.', heard 'My code is P9XW4.' (CER 0."
    )


def test_a_small_fault_is_rated_in_between_and_passes(record: Record, follow_script: Any) -> None:
    hearing = Hearing("I want to change my flights.")
    score = judge(record, follow_script(1), "time_limit_exceeded", hearing)
    assert score.details["per_turn_ratings"] == {"0": 2}
    assert speaks_as_meant(score)


def test_a_single_wrong_character_of_a_code_fails_however_long_the_sentence(
    call: Any,
) -> None:
    meant = "I am calling about the booking that I made last week, my booking code is K7TQ2."
    record = Record.model_validate({"id": "long", "turns": [meant]})
    call.caller_says(0, meant, at=1)
    score = judge(record, call, "time_limit_exceeded", Hearing(meant.replace("K7TQ2", "K7TQ3")))
    assert score.details["turns"][0]["character_error_rate"] < 0.03
    assert not speaks_as_meant(score)
    assert "not heard: K7TQ2" in score.details["reason"]


def test_a_turn_in_which_nothing_is_heard_fails(record: Record, follow_script: Any) -> None:
    score = judge(record, follow_script(1), "time_limit_exceeded", Hearing(""))
    assert "heard nothing (CER 1.00" in score.details["reason"]
    assert not speaks_as_meant(score)


def test_a_turn_cut_off_by_the_end_of_the_call_is_left_out(
    call: Any, record: Record, follow_script: Any
) -> None:
    follow_script(1).caller_says(1, record.turns[1].say, at=19.5, cut_off=True)
    score = judge(record, call, "time_limit_exceeded", Hearing("I want to change my flight."))
    assert score.details["per_turn_ratings"] == {"0": 3}
    assert [turn["turn"] for turn in score.details["left_out"]] == [1]


def test_a_turn_the_caller_cut_off_itself_is_rated_as_it_is(call: Any, record: Record) -> None:
    call.caller_says(0, record.turns[0].say, at=1, cut_off=True)
    score = judge(record, call, "time_limit_exceeded", Hearing("I want to"))
    assert score.details["per_turn_ratings"] == {"0": 1}


def test_a_call_in_which_the_caller_said_nothing_is_skipped(call: Any, record: Record) -> None:
    score = judge(record, call, "time_limit_exceeded", Hearing())
    assert score.skipped
    assert score.score is None
    assert speaks_as_meant(score)


def test_thresholds_bound_the_ratings_inclusively(record: Record, call: Any) -> None:
    record = Record.model_validate({"id": "ten", "turns": ["abcdefghij"]})
    call.caller_says(0, "abcdefghij", at=1)
    evidence = read_evidence(call.ends("goodbye"))
    thresholds = SpeechFidelityThresholds(rating_3=0.0, rating_2=0.1)
    score = score_speech_fidelity(record, evidence, Hearing("abcdefghix"), thresholds)
    assert score.details["per_turn_ratings"] == {"0": 2}


def test_real_speech_is_heard_as_meant_and_a_misspoken_code_is_not(
    call: Any, record: Record, text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> None:
    spoken = ["I want to change my flight.", "My code is P9XW4.", "Is it done?"]
    for index, (turn, text) in enumerate(zip(record.turns, spoken, strict=True)):
        sound = text_to_speech.synthesize(text, Voice(pitch=1.1), 16_000)
        call.caller_says(index, turn.say, at=1 + 6 * index, sound=sound)
    score = judge(record, call, "goodbye", speech_to_text)
    assert score.details["per_turn_ratings"] == {"0": 3, "1": 1, "2": 3}
