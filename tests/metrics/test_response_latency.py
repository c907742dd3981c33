from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import resample
from orchestrator_assets.audio.voice_activity import SpeechRegion, speech_regions
from orchestrator_assets.audio.wav import WavWriter, read_wav
from orchestrator_assets.call.speech.base import Samples, Voice
from orchestrator_assets.call.speech.engines import default_text_to_speech
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.response_latency import (
    Reply,
    ResponseLatency,
    turn_latencies,
)
from orchestrator_assets.metrics.speech_edges import sharpen

Speaking = Callable[..., Conversation]


def spoken(text: str, pitch: float) -> Samples:
    """What the other side hears: speech at 8 kHz after the telephone's codec."""
    speech = default_text_to_speech().synthesize(text, Voice(pitch=pitch), 8_000)
    return decode_mulaw(encode_mulaw(speech))


def audible(samples: Samples) -> NDArray[np.intp]:
    """The positions of samples above -55 dBFS."""
    return np.flatnonzero(np.abs(samples) > 60)


def test_known_latencies_are_measured_to_20_ms(speaking: Speaking) -> None:
    known = [0.45, 1.237, 2.0]
    caller = [(2.0, 3.2), (8.0, 9.113), (14.0, 15.5)]
    agent = [(0.5, 1.5)]
    agent += [(end + late, end + late + 1.5) for (_, end), late in zip(caller, known, strict=True)]
    score = ResponseLatency().compute(speaking(caller, agent))
    measured = [turn["latency_seconds"] for turn in score.details["per_turn"]]
    assert measured == pytest.approx(known, abs=0.02)
    assert score.score == pytest.approx(sum(known) / 3, abs=0.02)
    assert score.normalized_score is None
    assert score.details["p50_seconds"] == pytest.approx(1.237, abs=0.02)
    assert score.details["max_seconds"] == pytest.approx(2.0, abs=0.02)
    json.dumps(score.model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize("pitch", [0.85, 1.1])
@pytest.mark.parametrize(
    "text", ["Thank you, goodbye.", "Six people, please.", "Fine.", "My code is K7TQ2."]
)
def test_edges_of_real_speech_are_found_to_20_ms(text: str, pitch: float) -> None:
    speech = spoken(text, pitch)
    track = np.zeros(32_000, dtype=np.int16)
    track[9_237 : 9_237 + speech.size] = speech
    (region,) = sharpen(speech_regions(track, merge_gap_seconds=0.8), track)
    first, *_, last = 9_237 + audible(speech)
    assert region.start_seconds == pytest.approx(first / 8_000, abs=0.02)
    assert region.end_seconds == pytest.approx(last / 8_000, abs=0.02)


def test_a_little_noise_on_the_line_moves_no_edge(speaking: Speaking) -> None:
    conversation = speaking([(2.0, 3.0), (7.0, 8.0)], [(3.8, 5.0), (8.8, 10.0)])
    noise = np.random.default_rng(3).normal(0, 30, 160_000)
    for name in ("audio_user.wav", "audio_assistant.wav"):
        _add(noise, conversation, name)
    score = ResponseLatency().compute(conversation)
    measured = [turn["latency_seconds"] for turn in score.details["per_turn"]]
    assert measured == pytest.approx([0.8, 0.8], abs=0.02)


def _add(noise: NDArray[np.float64], conversation: Conversation, name: str) -> None:
    samples, rate = read_wav(conversation.directory / name)
    with WavWriter(conversation.directory / name, rate) as file:
        file.append((samples + noise).clip(-32768, 32767).astype(np.int16))


def test_a_pause_between_the_callers_sentences_is_no_turn(speaking: Speaking) -> None:
    score = ResponseLatency().compute(speaking([(1.0, 2.0), (2.5, 3.5)], [(4.5, 6.0)]))
    assert score.details["num_turns"] == 1
    assert score.score == pytest.approx(1.0, abs=0.02)


def test_interruptions_are_left_out(speaking: Speaking) -> None:
    caller, agent = [(1.0, 3.0), (8.0, 9.0)], [(2.5, 5.0), (10.0, 11.0)]
    score = ResponseLatency().compute(speaking(caller, agent))
    assert [turn["reply"] for turn in score.details["per_turn"]] == ["interrupted", "answered"]
    assert score.details["num_interrupted"] == 1
    assert score.score == pytest.approx(1.0, abs=0.02)


def test_a_caller_that_barges_in_is_answered_by_the_next_onset(speaking: Speaking) -> None:
    score = ResponseLatency().compute(speaking([(4.0, 5.0)], [(1.0, 4.3), (5.7, 7.0)]))
    assert score.details["per_turn"][0]["reply"] == "answered"
    assert score.score == pytest.approx(0.7, abs=0.02)


def test_unanswered_turns_are_listed_and_left_out(speaking: Speaking) -> None:
    caller, agent = [(1.0, 2.0), (5.0, 6.0), (10.0, 11.0)], [(6.9, 8.0)]
    score = ResponseLatency().compute(speaking(caller, agent))
    replies = [turn["reply"] for turn in score.details["per_turn"]]
    assert replies == ["unanswered", "answered", "unanswered"]
    assert score.details["num_unanswered"] == 2
    assert score.score == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("caller", [[], [(1.0, 2.0)]])
def test_without_an_answered_turn_the_metric_is_skipped(
    speaking: Speaking, caller: list[tuple[float, float]]
) -> None:
    score = ResponseLatency().compute(speaking(caller, []))
    assert score.skipped
    assert score.score is None
    assert score.details["num_turns"] == len(caller)


def test_a_word_of_the_agent_inside_a_turn_is_no_reply_to_it() -> None:
    caller = [SpeechRegion(1.0, 4.0)]
    agent = [SpeechRegion(2.0, 2.3), SpeechRegion(4.6, 6.0)]
    (turn,) = turn_latencies(caller, agent)
    assert turn.reply is Reply.ANSWERED
    assert turn.latency_seconds == pytest.approx(0.6)


def test_other_sample_rates_are_measured_alike(speaking: Speaking) -> None:
    conversation = speaking([(1.0, 2.0)], [(2.75, 4.0)])
    for name in ("audio_user.wav", "audio_assistant.wav"):
        samples, rate = read_wav(conversation.directory / name)
        with WavWriter(conversation.directory / name, 24_000) as file:
            file.append(resample(samples, rate, 24_000))
    score = ResponseLatency().compute(conversation)
    assert score.score == pytest.approx(0.75, abs=0.02)


def test_a_missing_track_is_named(speaking: Speaking) -> None:
    conversation = speaking([(1.0, 2.0)], [])
    (conversation.directory / "audio_assistant.wav").unlink()
    with pytest.raises(ConversationFileError, match=r"audio_assistant\.wav: is missing"):
        ResponseLatency().compute(conversation)


def test_a_dialogue_of_real_voices_is_measured_to_20_ms(speaking: Speaking) -> None:
    caller = spoken("I want to change my flight.", pitch=1.1)
    agent = spoken("Sure. What is your code?", pitch=0.85)
    conversation = speaking([], [])
    latency = 0.934
    caller_at = 8_000
    agent_at = caller_at + audible(caller)[-1] + round(latency * 8_000) - audible(agent)[0]
    for name, at, sound in (
        ("audio_user.wav", caller_at, caller),
        ("audio_assistant.wav", agent_at, agent),
    ):
        track = np.zeros(80_000, dtype=np.int16)
        track[at : at + sound.size] = sound
        with WavWriter(conversation.directory / name, 8_000) as file:
            file.append(track)
    score = ResponseLatency().compute(conversation)
    assert score.score == pytest.approx(latency, abs=0.02)
