from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_tracks import HZ, track_of, voiced_noise
from placed_calls import Engines, demo_agent, place
from told_calls import STARTED_AT, Told, eva_call, told_call, write_tracks

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.call.speech.base import Voice
from orchestrator_assets.call.transcript import write_transcript
from orchestrator_assets.metrics.agent_transcript_wer import AgentTranscriptWer
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.records import Record, Task

OFFER = "I can offer you Thursday at 10:00. Shall I book it?"


def wer(tmp_path: Path, texts: list[str], *rows: Told) -> MetricScore:
    return AgentTranscriptWer().compute(told_call(tmp_path, rows, report={"agent_texts": texts}))


def errors(score: MetricScore) -> list[tuple[str, str, str]]:
    return [
        (error["kind"], error["meant"], error["heard"])
        for utterance in score.details["utterances"]
        for error in utterance["errors"]
    ]


@pytest.mark.parametrize(
    ("meant", "heard"),
    [
        (OFFER, "i can offer you thursday at ten shall i book it"),
        ("Your code is K7TQ2.", "Your code is K, seven, T Q two."),
        ("That is $155 in all.", "That is one hundred and fifty-five dollars in all."),
        ("Call 555-0110.", "Call 5550110."),
        ("I cannot find it, goodbye.", "I can not find it good bye."),
        ("It's for Jürgen Müller.", "Its four Jurgen Muller"),
    ],
)
def test_spellings_of_the_same_words_are_equal(tmp_path: Path, meant: str, heard: str) -> None:
    score = wer(tmp_path, [meant], ("agent", heard, 0.5, 4.0))
    assert score.score == 0.0
    assert score.normalized_score == 1.0
    assert score.details["missing_details"] == []


def test_errors_are_counted_and_told_with_their_place(tmp_path: Path) -> None:
    score = wer(
        tmp_path,
        ["Good morning, how can I help?", "Your seat is on the left side."],
        ("agent", "Good morning how can I help", 0.5, 2.0),
        ("caller", "Where is my seat?", 2.5, 3.5),
        ("agent", "Your see is is on the side", 4.0, 6.0),
    )
    assert score.score == round(3 / 13, 4)
    assert score.normalized_score == round(1 - 3 / 13, 4)
    assert score.details["num_words"] == 13
    assert errors(score) == [
        ("substitution", "seat", "see"),
        ("insertion", "", "is"),
        ("deletion", "left", ""),
    ]
    first, second = score.details["utterances"]
    assert (first["start_seconds"], first["end_seconds"]) == (0.5, 2.0)
    assert all(error["start_seconds"] == 4.0 for error in second["errors"])
    assert second["heard"] == "Your see is is on the side"


def test_one_wrong_digit_is_a_detail_that_was_not_heard(tmp_path: Path) -> None:
    texts = ["Your new booking code is K7TQ2, and I will see you on Tuesday."]
    heard = "Your new booking code is K7TQ3, and I will see you on Tuesday."
    score = wer(tmp_path, texts, ("agent", heard, 1.0, 5.0))
    assert score.details["missing_details"] == [
        {"utterance": 0, "detail": "K7TQ2", "start_seconds": 1.0, "end_seconds": 5.0}
    ]
    assert errors(score) == [("substitution", "2", "3")]


def test_an_utterance_may_be_heard_in_pieces_and_several_as_one(tmp_path: Path) -> None:
    score = wer(
        tmp_path,
        ["Let me see.", "It is on Monday at nine. Is there anything else?", "Goodbye."],
        ("agent", "Let me see. It is on Monday at nine.", 1.0, 3.0),
        ("agent", "Is there anything else?", 3.9, 5.0),
        ("caller", "No.", 5.5, 6.0),
        ("agent", "Goodbye.", 6.5, 7.0),
    )
    assert score.score == 0.0
    places = [(each["start_seconds"], each["end_seconds"]) for each in score.details["utterances"]]
    assert places == [(1.0, 3.0), (1.0, 5.0), (6.5, 7.0)]


def test_an_utterance_nobody_heard_is_all_errors(tmp_path: Path) -> None:
    score = wer(tmp_path, ["Hello there.", "Code 55329."], ("agent", "Hello there.", 0.5, 1.5))
    assert score.details["num_deletions"] == 6
    assert score.details["utterances"][1]["start_seconds"] is None
    assert score.details["missing_details"][0]["detail"] == "55329"
    assert wer(tmp_path, ["Hello there."]).score == 1.0


def test_more_errors_than_words_are_no_worse_than_nothing(tmp_path: Path) -> None:
    score = wer(tmp_path, ["Yes."], ("agent", "one two three", 0.5, 1.5))
    assert score.score == 3.0
    assert score.normalized_score == 0.0


def test_what_a_barge_in_kept_from_being_played_is_no_error(tmp_path: Path) -> None:
    score = wer(
        tmp_path,
        [OFFER, "Of course. Which day is better?"],
        ("agent", "I can offer you Thurs", 1.0, 2.6),
        ("caller", "No, not Thursday.", 2.3, 3.5),
        ("agent", "Of course. Which day is better?", 4.5, 6.0),
    )
    assert score.score == 0.0
    assert score.details["num_words_never_played"] == 8
    assert score.details["utterances"][0]["played"] == "I can offer you"
    assert score.details["missing_details"] == []


def test_what_is_missing_without_a_barge_in_is_an_error(tmp_path: Path) -> None:
    score = wer(
        tmp_path,
        [OFFER, "Of course."],
        ("agent", "I can offer you", 1.0, 2.0),
        ("caller", "No, not Thursday.", 2.3, 3.5),
        ("agent", "Of course.", 4.5, 6.0),
    )
    assert score.details["num_deletions"] == 8
    assert [each["detail"] for each in score.details["missing_details"]] == ["Thursday", "10:00"]


def test_an_agent_that_talked_on_was_not_cut_off(tmp_path: Path) -> None:
    score = wer(
        tmp_path,
        [OFFER],
        ("agent", "I can offer you Thursday", 1.0, 6.0),
        ("caller", "Mhm.", 2.0, 2.5),
    )
    assert score.details["num_words_never_played"] == 0
    assert score.details["num_deletions"] == 7


def test_an_agent_that_stops_because_the_caller_is_talking_already_was_cut_off(
    tmp_path: Path,
) -> None:
    score = wer(
        tmp_path,
        [OFFER],
        ("caller", "I would like to come on another day.", 1.0, 4.0),
        ("agent", "I can", 2.0, 2.5),
    )
    assert score.score == 0.0
    assert score.details["num_words_never_played"] == 10


def test_a_queue_that_a_barge_in_flushed_is_no_error(tmp_path: Path) -> None:
    rows: list[Told] = [
        ("agent", "I can offer you", 1.0, 2.6),
        ("caller", "Wait.", 2.3, 2.9),
        ("agent", "Yes?", 4.0, 4.5),
    ]
    texts = ["I can offer you Thursday.", "Shall I book it?", "Yes?"]
    assert wer(tmp_path, texts, *rows).score == 0.0
    # A second turn of the caller in between: it waited for an answer that was never audible.
    rows.insert(2, ("caller", "Are you there?", 3.2, 3.6))
    assert wer(tmp_path, texts, *rows).details["num_deletions"] == 4


def with_sound(
    tmp_path: Path,
    agent: list[tuple[float, float]],
    seconds: float,
    rows: list[Told],
    texts: list[str],
) -> MetricScore:
    track = track_of([(start, voiced_noise(end - start)) for start, end in agent], seconds)
    write_tracks(tmp_path, np.zeros_like(track), track)
    return wer(tmp_path, texts, *rows)


def test_a_reply_that_was_stifled_at_its_first_sound_is_no_error(tmp_path: Path) -> None:
    rows: list[Told] = [
        ("agent", "Hello.", 1.0, 2.0),
        ("caller", "One more thing.", 5.0, 6.0),
        ("agent", "Yes?", 7.0, 8.0),
    ]
    texts = ["Hello.", OFFER, "Yes?"]
    heard = [(1.0, 2.0), (7.0, 8.0)]
    assert with_sound(tmp_path, heard, 20, rows, texts).details["num_deletions"] == 12
    stifled = [(1.0, 2.0), (5.1, 5.16), (7.0, 8.0)]
    score = with_sound(tmp_path, stifled, 20, rows, texts)
    assert score.score == 0.0
    assert score.details["utterances"][1]["played"] == ""


def test_what_the_end_of_the_call_cut_off_is_no_error(tmp_path: Path) -> None:
    rows: list[Told] = [("caller", "Goodbye.", 1.0, 2.0), ("agent", "Thank you for", 3.0, 4.0)]
    texts = ["Thank you for calling.", "Goodbye."]
    assert with_sound(tmp_path, [(3.0, 4.0)], 4.1, rows, texts).score == 0.0
    assert with_sound(tmp_path, [(3.0, 4.0)], 9.0, rows, texts).details["num_deletions"] == 2


def test_an_agent_that_had_no_time_to_answer_is_not_blamed_for_it(tmp_path: Path) -> None:
    rows: list[Told] = [("agent", "Hello.", 0.5, 1.0), ("caller", "Goodbye.", 2.0, 3.0)]
    texts = ["Hello.", "Goodbye."]
    assert with_sound(tmp_path, [(0.5, 1.0)], 4.0, rows, texts).score == 0.0
    assert with_sound(tmp_path, [(0.5, 1.0)], 9.0, rows, texts).details["num_deletions"] == 1


@pytest.mark.parametrize("texts", [[], ["…"]])
def test_an_agent_that_sent_no_words_is_skipped(tmp_path: Path, texts: list[str]) -> None:
    score = wer(tmp_path, texts, ("agent", "You", 0.5, 1.0))
    assert score.skipped
    assert score.score is None
    assert score.details["reason"] == "no word that the agent sent was played"


def test_our_own_calls_need_the_agents_text(tmp_path: Path) -> None:
    conversation = told_call(tmp_path, [("agent", "Hello.", 0.5, 1.0)], report={})
    assert "no text of its own" in str(conversation.lacks(Need.AGENT_TEXT))


def spoken_call(tmp_path: Path, engines: Engines, said: list[str], texts: list[str]) -> MetricScore:
    """The score of a call in which the agent says one thing and reports another."""
    text_to_speech, speech_to_text = engines
    sounds, at = [], 1.0
    for text in said:
        speech = text_to_speech.synthesize(text, Voice(pitch=0.85, speed=0.9), HZ)
        sounds.append((at, decode_mulaw(encode_mulaw(speech))))
        at += speech.size / HZ + 2.0
    track = track_of(sounds, at)
    conversation = told_call(tmp_path, report={"agent_texts": texts})
    write_tracks(tmp_path, np.zeros_like(track), track)
    write_transcript(
        tmp_path, started_at=STARTED_AT, caller_turns=[], speech_to_text=speech_to_text
    )
    return AgentTranscriptWer().compute(conversation)


SAID = [
    "Harbour Dental, good morning. How can I help you?",
    "Your appointment is on Tuesday at nine. Which day and time would you like instead?",
    "Done. Your appointment is now on Thursday at ten.",
]


def test_real_speech_is_understood_but_for_what_a_recogniser_mishears(
    tmp_path: Path, engines: Engines
) -> None:
    score = spoken_call(tmp_path, engines, SAID, SAID)
    assert score.normalized_score is not None
    assert score.normalized_score >= AgentTranscriptWer.pass_threshold
    assert score.details["missing_details"] == []


def test_real_speech_that_says_another_day_than_was_meant_is_found(
    tmp_path: Path, engines: Engines
) -> None:
    meant = [*SAID[:2], "Done. Your appointment is now on Friday at ten."]
    score = spoken_call(tmp_path, engines, SAID, meant)
    assert ("substitution", "friday", "thursday") in errors(score)
    (missing,) = score.details["missing_details"]
    assert (missing["utterance"], missing["detail"]) == (2, "Friday")


def test_real_speech_that_was_never_made_fails(tmp_path: Path, engines: Engines) -> None:
    score = spoken_call(tmp_path, engines, [SAID[0], SAID[2]], SAID)
    assert score.normalized_score is not None
    assert score.normalized_score < AgentTranscriptWer.pass_threshold
    assert score.details["utterances"][1]["errors"][0]["kind"] == "deletion"


async def test_a_call_of_the_demo_agent_with_a_barge_in_scores_well(
    tmp_path: Path, engines: Engines
) -> None:
    turns = [
        "Hello, can you tell me when my appointment is?",
        "My booking code is M3RW9.",
        {"say": "No, thank you. Goodbye.", "barge_in_after_seconds": 1.2},
    ]
    async with demo_agent(engines) as address:
        await place(address, engines, tmp_path, turns=turns)
    score = AgentTranscriptWer().compute(Conversation(Task(Record(id="ä/1")), tmp_path))
    assert [each["text"] for each in score.details["utterances"]] == [
        "Harbour Dental, good morning. How can I help you?",
        "Certainly. What is your booking code?",
        "Your appointment is on Monday at eleven. Is there anything else?",
        "Thank you for calling Harbour Dental. Goodbye.",
    ]
    assert score.details["num_words_never_played"] >= 4
    assert score.normalized_score is not None
    assert score.normalized_score >= AgentTranscriptWer.pass_threshold
    json.dumps(score.model_dump(mode="json"), allow_nan=False)


def test_evas_own_text_is_compared_with_what_its_caller_understood(eva_data: Path) -> None:
    score = AgentTranscriptWer().compute(eva_call(eva_data))
    assert score.score == pytest.approx(8 / 660, abs=1e-4)
    assert ("substitution", "seat", "c") in errors(score)
    assert score.details["utterances"][0]["start_seconds"] == pytest.approx(0.516, abs=0.001)
