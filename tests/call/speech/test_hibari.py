from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from orchestrator_assets.audio.samples import Samples, rms_dbfs
from orchestrator_assets.call.speech.base import TextToSpeech, Voice
from orchestrator_assets.call.speech.hibari import LEVEL_DBFS, HibariTextToSpeech
from orchestrator_assets.errors import SpeechEngineError

CALLER = Voice(pitch=1.1)
TEXTS = [
    "My booking code is K7TQ2.",
    "Could we do Friday at 2:15 p.m. instead?",
    "No, that is all. Thank you very much, goodbye.",
    "You can reach me at 573-555-0110.",
]


@pytest.fixture(scope="module")
def uncached() -> HibariTextToSpeech:
    """An engine that computes everything anew."""
    return HibariTextToSpeech(cached_utterances=0)


def pitch_hz(samples: Samples, sample_rate_hz: int) -> float:
    """Return the median fundamental frequency of the voiced stretches, by autocorrelation."""
    size = sample_rate_hz // 20
    found = []
    for start in range(0, samples.size - size, size):
        window = samples[start : start + size].astype(np.float64)
        if rms_dbfs(samples[start : start + size]) < LEVEL_DBFS - 3:
            continue
        correlation = np.correlate(window, window, "full")[size - 1 :]
        shortest, longest = sample_rate_hz // 400, sample_rate_hz // 100
        lag = shortest + int(correlation[shortest:longest].argmax())
        found.append(sample_rate_hz / lag)
    return float(np.median(found))


def longest_silence_seconds(samples: Samples, sample_rate_hz: int) -> float:
    audible = np.flatnonzero(np.abs(samples.astype(np.int32)) > 60)
    return float(np.diff(audible).max()) / sample_rate_hz


def test_the_same_arguments_give_the_same_bytes(uncached: HibariTextToSpeech) -> None:
    for text in TEXTS:
        first = uncached.synthesize(text, CALLER, 8000)
        second = uncached.synthesize(text, CALLER, 8000)
        assert first is not second
        assert first.tobytes() == second.tobytes()


def test_threads_get_the_same_bytes_as_one_alone(uncached: HibariTextToSpeech) -> None:
    alone = [uncached.synthesize(text, CALLER, 8000).tobytes() for text in TEXTS]
    with ThreadPoolExecutor(4) as threads:
        together = threads.map(
            lambda text: uncached.synthesize(text, CALLER, 8000).tobytes(), TEXTS * 3
        )
        assert list(together) == alone * 3


def test_the_level_is_always_the_same(text_to_speech: TextToSpeech) -> None:
    for text in TEXTS:
        samples = text_to_speech.synthesize(text, CALLER, 16000)
        assert rms_dbfs(samples) == pytest.approx(LEVEL_DBFS, abs=0.1)


def test_speech_begins_and_ends_with_sound(text_to_speech: TextToSpeech) -> None:
    for text in TEXTS:
        samples = text_to_speech.synthesize(text, CALLER, 8000)
        assert rms_dbfs(samples[:240]) > -80
        assert rms_dbfs(samples[-240:]) > -80


def test_sentences_are_close_together(text_to_speech: TextToSpeech) -> None:
    samples = text_to_speech.synthesize("I am here. You are there. We wait.", CALLER, 8000)
    assert 0.2 <= longest_silence_seconds(samples, 8000) < 0.5


def test_the_sample_rate_changes_neither_duration_nor_pitch(text_to_speech: TextToSpeech) -> None:
    narrow = text_to_speech.synthesize(TEXTS[1], CALLER, 8000)
    wide = text_to_speech.synthesize(TEXTS[1], CALLER, 24000)
    assert narrow.size / 8000 == pytest.approx(wide.size / 24000, abs=0.03)
    assert pitch_hz(narrow, 8000) == pytest.approx(pitch_hz(wide, 24000), rel=0.08)


def test_pitch_raises_the_voice_without_hurrying_it(text_to_speech: TextToSpeech) -> None:
    low = text_to_speech.synthesize(TEXTS[1], Voice(pitch=0.85), 8000)
    high = text_to_speech.synthesize(TEXTS[1], Voice(pitch=1.1), 8000)
    assert pitch_hz(high, 8000) / pitch_hz(low, 8000) == pytest.approx(1.1 / 0.85, rel=0.12)
    assert high.size == pytest.approx(low.size, rel=0.2)


def test_speed_shortens_what_is_said(text_to_speech: TextToSpeech) -> None:
    slow = text_to_speech.synthesize(TEXTS[1], Voice(speed=0.8), 8000)
    fast = text_to_speech.synthesize(TEXTS[1], Voice(speed=1.2), 8000)
    assert fast.size < 0.8 * slow.size


def test_the_seed_changes_the_samples(text_to_speech: TextToSpeech) -> None:
    one = text_to_speech.synthesize(TEXTS[0], Voice(seed=1), 8000)
    two = text_to_speech.synthesize(TEXTS[0], Voice(seed=2), 8000)
    assert one.tobytes() != two.tobytes()


def test_written_and_spoken_form_sound_the_same(text_to_speech: TextToSpeech) -> None:
    written = text_to_speech.synthesize("Code K7TQ2, 4 PM.", CALLER, 8000)
    spoken = text_to_speech.synthesize("Code K, seven, T, Q, two, four PM.", CALLER, 8000)
    assert np.array_equal(written, spoken)


def test_what_was_said_lately_is_kept_and_cannot_be_spoiled(text_to_speech: TextToSpeech) -> None:
    samples = text_to_speech.synthesize(TEXTS[0], CALLER, 8000)
    assert text_to_speech.synthesize(TEXTS[0], CALLER, 8000) is samples
    with pytest.raises(ValueError, match="read-only"):
        samples[0] = 1


def test_a_long_text_is_said_in_full(text_to_speech: TextToSpeech) -> None:
    sentence = ", ".join(["I would like to move my appointment to another day"] * 15) + "."
    once = text_to_speech.synthesize(
        "I would like to move my appointment to another day.", CALLER, 8000
    )
    assert text_to_speech.synthesize(sentence, CALLER, 8000).size > 12 * once.size


@pytest.mark.parametrize("text", ["", "   ", "...", "!?"])
def test_a_text_without_a_word_gives_no_samples(text_to_speech: TextToSpeech, text: str) -> None:
    assert text_to_speech.synthesize(text, CALLER, 8000).size == 0


def test_a_missing_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hibari", None)
    with pytest.raises(SpeechEngineError, match=r"pip install 'orchestrator-assets\[speech\]'"):
        HibariTextToSpeech()
