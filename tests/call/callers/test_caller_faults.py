"""Planted faults of the caller's voice: each is measured to be what it says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import resample, rms_dbfs
from orchestrator_assets.audio.voice_activity import TurnDetector
from orchestrator_assets.call.callers.scripted import PreparedTurn, prepare_turns
from orchestrator_assets.call.speech.base import Samples, SpeechToText, TextToSpeech
from orchestrator_assets.call.speech.comparison import character_error_rate
from orchestrator_assets.evaluation import Caller
from orchestrator_assets.records import Record

MEANT = "Thursday at ten, please."
SCRIPT = ["Hello, I would like to move my appointment.", MEANT, "Yes, please."]

Speak = Callable[..., list[PreparedTurn]]


@pytest.fixture
def speak(text_to_speech: TextToSpeech) -> Speak:
    """Return the turns as the caller says them, with a fault in the second, or with none."""

    def speak(kind: str | None = None, *, attempt: int = 1) -> list[PreparedTurn]:
        faults = [] if kind is None else [{"kind": kind, "turn": 1}]
        record = Record.model_validate({"id": "a", "turns": SCRIPT, "caller_faults": faults})
        return prepare_turns(record, attempt, Caller(), text_to_speech)

    return speak


def clean_sound(turn: PreparedTurn) -> Samples:
    return np.concatenate([frame.clean for frame in turn.frames])


def line_sound(turn: PreparedTurn) -> Samples:
    return np.concatenate([decode_mulaw(encode_mulaw(frame.wire)) for frame in turn.frames])


def clipped_share(samples: Samples) -> float:
    return float(np.mean(np.abs(samples.astype(np.int32)) >= 32_000))


def test_only_the_turn_with_the_fault_sounds_different(speak: Speak) -> None:
    right = speak()
    for kind in ("garble", "too_quiet", "clip"):
        for index, (spoilt, meant) in enumerate(zip(speak(kind), right, strict=True)):
            same = np.array_equal(clean_sound(spoilt), clean_sound(meant))
            assert same is (index != 1)
            assert spoilt.text == meant.text


def test_a_garbled_turn_is_as_long_and_loud_as_ever_and_nobody_understands_it(
    speak: Speak, speech_to_text: SpeechToText
) -> None:
    meant = speak()[1]
    for attempt in range(1, 4):
        garbled = speak("garble", attempt=attempt)[1]
        as_said = speak(attempt=attempt)[1]
        assert len(garbled.frames) == len(as_said.frames)
        assert rms_dbfs(line_sound(garbled)) == pytest.approx(rms_dbfs(line_sound(meant)), abs=0.5)
        for sound, rate in ((clean_sound(garbled), 16_000), (line_sound(garbled), 8_000)):
            heard = speech_to_text.transcribe(resample(sound, rate, speech_to_text.sample_rate_hz))
            assert character_error_rate(MEANT, heard) > 0.6


def test_a_garbled_turn_has_every_sample_of_the_turn_in_blocks_played_backwards(
    speak: Speak,
) -> None:
    garbled, meant = speak("garble")[1], speak()[1]
    assert sorted(clean_sound(garbled)) == sorted(clean_sound(meant))
    backwards = {frame.clean[::-1].tobytes() for frame in meant.frames}
    assert {frame.clean.tobytes() for frame in garbled.frames} == backwards


def test_the_clean_track_and_the_line_are_garbled_alike(speak: Speak) -> None:
    garbled, meant = speak("garble")[1], speak()[1]
    pairs = {frame.clean.tobytes(): frame.wire.tobytes() for frame in meant.frames}
    for frame in garbled.frames:
        assert frame.wire[::-1].tobytes() == pairs[frame.clean[::-1].tobytes()]


def test_a_turn_that_is_too_quiet_lies_below_what_anybody_hears(speak: Speak) -> None:
    quiet, meant = speak("too_quiet")[1], speak()[1]
    assert rms_dbfs(clean_sound(meant)) == pytest.approx(-22, abs=0.5)
    assert rms_dbfs(clean_sound(quiet)) == pytest.approx(-68, abs=0.5)
    assert rms_dbfs(line_sound(quiet)) < -65
    assert len(quiet.frames) == len(meant.frames)


def test_an_agent_does_not_notice_a_quiet_turn_or_makes_nothing_of_it(
    speak: Speak, speech_to_text: SpeechToText
) -> None:
    line = line_sound(speak("too_quiet")[1])
    detector = TurnDetector(0.5)
    noticed = any(detector.push(frame) for frame in line.reshape(-1, 160))
    heard = speech_to_text.transcribe(resample(line, 8_000, speech_to_text.sample_rate_hz))
    assert not noticed or heard == ""


def test_a_clipped_turn_has_a_third_of_its_samples_at_full_scale(speak: Speak) -> None:
    clipped, meant = speak("clip")[1], speak()[1]
    for sound in (clean_sound(clipped), line_sound(clipped)):
        assert clipped_share(sound) > 0.3
    for sound in (clean_sound(meant), line_sound(meant)):
        assert clipped_share(sound) == 0


@pytest.mark.parametrize("kind", ["garble", "too_quiet", "clip"])
def test_the_same_attempt_sounds_the_same_every_time(speak: Speak, kind: str) -> None:
    first, second = (clean_sound(speak(kind)[1]) for _ in range(2))
    assert np.array_equal(first, second)


def test_another_attempt_is_garbled_another_way(speak: Speak) -> None:
    first, second = (clean_sound(speak("garble", attempt=attempt)[1]) for attempt in (1, 2))
    assert first.size != second.size or not np.array_equal(first, second)
