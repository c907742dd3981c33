from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from recorded_calls import CLEAN_HZ, voiced_noise

from orchestrator_assets.audio.samples import rms_dbfs
from orchestrator_assets.call.speech.base import Samples, SpeechToText, TextToSpeech, Voice
from orchestrator_assets.evaluation import SpeechFidelityThresholds
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.evidence import read_evidence
from orchestrator_assets.validation.speech_fidelity import score_speech_fidelity, speaks_as_meant


class Hearing:
    """Hears a given text, turn by turn; the same again where it is played slower or faster."""

    sample_rate_hz = 8_000

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.heard_seconds: list[float] = []
        self.text = ""
        self.played_again_samples: set[int] = set()

    def transcribe(self, samples: Samples) -> str:
        if samples.size not in self.played_again_samples:
            self.heard_seconds.append(samples.size / self.sample_rate_hz)
            self.text = self.texts.pop(0)
            speeds = (0.97, 1.03)
            self.played_again_samples = {round(samples.size / speed) for speed in speeds}
        return self.text


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


class SlippingOnce(Hearing):
    """Hears the last of its texts where the sound is played at another speed."""

    def transcribe(self, samples: Samples) -> str:
        again = samples.size in self.played_again_samples
        heard = super().transcribe(samples)
        return self.texts[-1] if again else heard


def test_a_slip_of_the_recogniser_that_another_speed_does_not_repeat_is_no_fault(
    record: Record, call: Any
) -> None:
    meant = record.turns[1].say
    call.caller_says(1, meant, at=1)
    score = judge(record, call, "time_limit_exceeded", SlippingOnce("My code is K7TQ02.", meant))
    assert score.details["per_turn_ratings"] == {"1": 3}
    (turn,) = score.details["turns"]
    assert (turn["heard"], turn["missing_details"]) == (meant, [])
    assert turn["comment"] == "CER 0.00 at 97% of its speed; first 'My code is K7TQ02.'"


def test_a_turn_that_is_wrong_at_every_speed_is_quoted_as_it_was_said(
    record: Record, call: Any
) -> None:
    call.caller_says(1, record.turns[1].say, at=1)
    hearing = SlippingOnce("My code is K9TQ2.", "My code is K8TQ2.")
    score = judge(record, call, "time_limit_exceeded", hearing)
    assert score.details["per_turn_ratings"] == {"1": 1}
    assert "heard 'My code is K9TQ2.'" in score.details["reason"]


def test_a_code_this_recogniser_slips_on_is_heard_all_the_same(
    record: Record, call: Any, text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> None:
    voice = Voice(pitch=1.15)
    sound = text_to_speech.synthesize(record.turns[1].say, voice, CLEAN_HZ)
    call.caller_says(1, record.turns[1].say, at=1, sound=sound)
    score = judge(record, call, "time_limit_exceeded", speech_to_text)
    assert score.details["per_turn_ratings"] == {"1": 3}


def amplified(samples: Samples, gain_db: float) -> Samples:
    louder = np.clip(np.rint(samples * 10 ** (gain_db / 20)), -32_768, 32_767)
    result: Samples = louder.astype(np.int16)
    return result


def test_level_and_clipping_are_measured_on_both_tracks(record: Record, follow_script: Any) -> None:
    score = judge(record, follow_script(1), "time_limit_exceeded", Hearing(record.turns[0].say))
    (turn,) = score.details["turns"]
    assert set(turn["sound"]) == {"audio_user_clean.wav", "audio_user.wav"}
    clean, line = turn["sound"]["audio_user_clean.wav"], turn["sound"]["audio_user.wav"]
    assert clean["level_dbfs"] == pytest.approx(rms_dbfs(voiced_noise(1.0, CLEAN_HZ)), abs=1)
    assert line["level_dbfs"] == pytest.approx(clean["level_dbfs"], abs=1)
    assert clean["clipped_share"] == line["clipped_share"] == 0
    assert (turn["start_seconds"], turn["end_seconds"]) == (1.0, 2.0)
    assert (turn["faults"], turn["heard_on"]) == ([], ["audio_user_clean.wav"])


def test_a_turn_that_is_too_quiet_is_rated_worst_though_it_was_heard(
    call: Any, record: Record, follow_script: Any
) -> None:
    follow_script(2)
    call.clean[:64_000] = amplified(call.clean[:64_000], -33)
    hearing = Hearing(*(turn.say for turn in record.turns))
    score = judge(record, call, "time_limit_exceeded", hearing)
    assert score.details["per_turn_ratings"] == {"0": 1, "1": 3}
    faults = score.details["turns"][0]["faults"]
    assert [fault.split(": ")[0] for fault in faults] == [
        "too quiet on audio_user_clean.wav",
        "too quiet on audio_user.wav",
    ]
    assert "dBFS, below -45" in score.details["reason"]
    assert "CER 0.00" in score.details["reason"]
    assert not speaks_as_meant(score)


def test_a_turn_that_is_too_quiet_on_the_line_alone_is_rated_worst(
    call: Any, record: Record, follow_script: Any
) -> None:
    follow_script(1).on_the_line = lambda samples: amplified(samples, -33)
    score = judge(record, call, "time_limit_exceeded", Hearing(record.turns[0].say))
    assert score.details["per_turn_ratings"] == {"0": 1}
    (fault,) = score.details["turns"][0]["faults"]
    assert fault.startswith("too quiet on audio_user.wav")


def test_a_turn_that_is_silent_on_the_line_has_no_level(
    call: Any, record: Record, follow_script: Any
) -> None:
    follow_script(1).on_the_line = lambda samples: samples * 0
    meant = record.turns[0].say
    score = judge(record, call, "time_limit_exceeded", Hearing(meant, ""))
    (turn,) = score.details["turns"]
    assert turn["sound"]["audio_user.wav"]["level_dbfs"] is None
    assert turn["faults"] == ["too quiet on audio_user.wav: silent, below -45"]
    json.dumps(score.model_dump(mode="json"), allow_nan=False)


def test_a_pause_in_a_turn_does_not_make_it_less_loud(record: Record, call: Any) -> None:
    speech = voiced_noise(1.0, CLEAN_HZ)
    hum = amplified(voiced_noise(3.0, CLEAN_HZ), -45)
    with_pause = np.concatenate([speech[:8_000], hum, speech[8_000:]])
    call.caller_says(0, record.turns[0].say, at=1, sound=with_pause)
    score = judge(record, call, "time_limit_exceeded", Hearing(record.turns[0].say))
    level = score.details["turns"][0]["sound"]["audio_user_clean.wav"]["level_dbfs"]
    assert level == pytest.approx(rms_dbfs(speech), abs=1)


def test_a_click_does_not_hide_that_a_turn_is_too_quiet(record: Record, call: Any) -> None:
    sound = amplified(voiced_noise(1.0, CLEAN_HZ), -33)
    sound[5_000:5_100] = 30_000
    call.caller_says(0, record.turns[0].say, at=1, sound=sound)
    score = judge(record, call, "time_limit_exceeded", Hearing(record.turns[0].say))
    faults = score.details["turns"][0]["faults"]
    assert any(fault.startswith("too quiet on audio_user_clean.wav") for fault in faults)


@pytest.mark.parametrize("on_the_line_alone", [False, True])
def test_a_clipped_turn_is_rated_worst_though_it_was_heard(
    call: Any, record: Record, follow_script: Any, on_the_line_alone: bool
) -> None:
    follow_script(1)
    if on_the_line_alone:
        call.on_the_line = lambda samples: amplified(samples, 24)
    else:
        call.clean = amplified(call.clean, 24)
    hearing = Hearing(record.turns[0].say, record.turns[0].say)
    score = judge(record, call, "time_limit_exceeded", hearing)
    assert score.details["per_turn_ratings"] == {"0": 1}
    kinds = [fault.split(": ")[0] for fault in score.details["turns"][0]["faults"]]
    assert "clipped on audio_user.wav" in kinds
    assert ("clipped on audio_user_clean.wav" in kinds) is not on_the_line_alone


def test_a_turn_that_was_made_quieter_after_it_was_clipped_is_clipped_still(
    call: Any, record: Record, follow_script: Any
) -> None:
    follow_script(1)
    call.clean = amplified(amplified(call.clean, 24), -12)
    hearing = Hearing(record.turns[0].say, record.turns[0].say)
    score = judge(record, call, "time_limit_exceeded", hearing)
    assert score.details["per_turn_ratings"] == {"0": 1}


def test_the_bounds_of_level_and_clipping_are_the_evaluations(
    call: Any, record: Record, follow_script: Any
) -> None:
    follow_script(1)
    call.clean = amplified(call.clean, 24)
    evidence = read_evidence(call.ends("goodbye"))
    lenient = SpeechFidelityThresholds(most_clipped=0.9)
    hearing = Hearing(record.turns[0].say, record.turns[0].say)
    assert score_speech_fidelity(record, evidence, hearing, lenient).score == 3
    strict = SpeechFidelityThresholds(most_clipped=0.9, quietest_dbfs=0)
    hearing = Hearing(record.turns[0].say, record.turns[0].say)
    assert score_speech_fidelity(record, evidence, hearing, strict).score == 1


def test_what_the_line_lost_is_heard_there_and_rated_by_it(
    call: Any, record: Record, follow_script: Any
) -> None:
    def with_a_hole(samples: Samples) -> Samples:
        lost = samples.copy()
        lost[12_000:12_800] = 0
        return lost

    follow_script(2).on_the_line = with_a_hole
    hearing = Hearing("I want to change my flight.", "I want to my flight.", "My code is K7TQ2.")
    score = judge(record, call, "time_limit_exceeded", hearing)
    assert score.details["per_turn_ratings"] == {"0": 1, "1": 3}
    first, second = score.details["turns"]
    assert first["heard_on"] == ["audio_user_clean.wav", "audio_user.wav"]
    assert first["heard"] == "I want to my flight."
    assert second["heard_on"] == ["audio_user_clean.wav"]
    assert "heard 'I want to my flight.' on audio_user.wav" in score.details["reason"]


def test_a_turn_that_is_merely_less_loud_on_the_line_is_heard_once(
    call: Any, record: Record, follow_script: Any
) -> None:
    follow_script(1).on_the_line = lambda samples: amplified(samples, -9)
    score = judge(record, call, "time_limit_exceeded", Hearing(record.turns[0].say))
    assert score.details["turns"][0]["heard_on"] == ["audio_user_clean.wav"]
    assert speaks_as_meant(score)


def test_the_entities_of_each_turn_are_listed_as_heard_or_not(record: Record, call: Any) -> None:
    meant = "Move K7TQ2 to Thursday at 10:30."
    record = Record.model_validate({"id": "move", "turns": [meant]})
    call.caller_says(0, meant, at=1)
    score = judge(record, call, "time_limit_exceeded", Hearing("Move K7TQ2 to Tuesday at ten 30."))
    assert score.details["turns"][0]["entities"] == [
        {"text": "K7TQ2", "heard": True},
        {"text": "Thursday", "heard": False},
        {"text": "10:30", "heard": True},
    ]


def test_without_a_record_the_caller_is_held_to_what_it_says_it_meant(call: Any) -> None:
    call.caller_says(0, "Hello there.", at=1).caller_says(1, "My code is 71652.", at=4)
    evidence = read_evidence(call.ends("goodbye"))
    hearing = Hearing("Hello there.", "My code is 71653.")
    score = score_speech_fidelity(None, evidence, hearing, SpeechFidelityThresholds())
    assert score.details["per_turn_ratings"] == {"0": 3, "1": 1}


@pytest.mark.parametrize(
    ("gain_db", "fault"), [(-46.0, "too quiet"), (-26.0, "too quiet"), (30.0, "clipped")]
)
def test_real_speech_at_a_level_nobody_should_speak_at_is_noticed(
    call: Any, record: Record, text_to_speech: TextToSpeech, gain_db: float, fault: str
) -> None:
    sound = text_to_speech.synthesize(record.turns[0].say, Voice(pitch=1.1), CLEAN_HZ)
    call.caller_says(0, record.turns[0].say, at=1, sound=amplified(sound, gain_db))
    hearing = Hearing(record.turns[0].say, record.turns[0].say)
    score = judge(record, call, "time_limit_exceeded", hearing)
    assert score.details["per_turn_ratings"] == {"0": 1}
    assert all(each.startswith(fault) for each in score.details["turns"][0]["faults"])


@pytest.mark.parametrize("gain_db", [-16.0, 0.0, 6.0])
def test_real_speech_at_an_ordinary_level_is_no_fault(
    call: Any, record: Record, text_to_speech: TextToSpeech, gain_db: float
) -> None:
    sound = text_to_speech.synthesize(record.turns[0].say, Voice(pitch=1.1), CLEAN_HZ)
    call.caller_says(0, record.turns[0].say, at=1, sound=amplified(sound, gain_db))
    score = judge(record, call, "time_limit_exceeded", Hearing(record.turns[0].say))
    assert score.details["turns"][0]["faults"] == []
    assert score.details["turns"][0]["heard_on"] == ["audio_user_clean.wav"]
