"""Two tracks of one voice: how far they are apart, and how fast that changes."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_assets.audio.drift import drift_between
from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import Samples, resample
from orchestrator_assets.audio.voice_activity import SpeechRegion, speech_regions

LINE_HZ, CLEAN_HZ = 8_000, 16_000


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * LINE_HZ), np.int16)


@pytest.fixture
def line(sentences: list[Samples]) -> Samples:
    """Three turns in 40 s, as the line left them."""
    parts = [part for each in sentences for part in (each, silence(12))]
    samples = np.concatenate([silence(0.5), *parts])[: 40 * LINE_HZ]
    return decode_mulaw(encode_mulaw(samples))


@pytest.fixture
def clean(line: Samples) -> Samples:
    return resample(line, LINE_HZ, CLEAN_HZ)


@pytest.fixture
def speech(line: Samples) -> list[SpeechRegion]:
    return speech_regions(line)


def stretched(samples: Samples, seconds: float) -> Samples:
    """Return the track as a slower clock would have taken it: longer by some seconds."""
    count = samples.size + round(seconds * LINE_HZ)
    times = np.arange(count) * (samples.size / count)
    slower: Samples = np.rint(np.interp(times, np.arange(samples.size), samples)).astype(np.int16)
    return slower


def test_tracks_of_one_recording_are_not_apart(
    clean: Samples, line: Samples, speech: list[SpeechRegion]
) -> None:
    drift = drift_between(clean, CLEAN_HZ, line, LINE_HZ, speech)

    assert drift is not None
    assert abs(drift.offset_ms) < 0.5
    assert abs(drift.drift_ms) < 0.5
    assert drift.correlation > 0.95


@pytest.mark.parametrize("late_ms", [-400.0, -3.0, 7.5, 20.0, 300.0])
def test_a_constant_offset_is_measured(
    clean: Samples, line: Samples, speech: list[SpeechRegion], late_ms: float
) -> None:
    shift = round(abs(late_ms) / 1000 * LINE_HZ)
    moved = np.concatenate([silence(shift / LINE_HZ), line]) if late_ms > 0 else line[shift:]

    drift = drift_between(clean, CLEAN_HZ, moved, LINE_HZ, speech)

    assert drift is not None
    assert drift.offset_ms == pytest.approx(late_ms, abs=0.25)
    assert drift.drift_ms == pytest.approx(0, abs=1)


@pytest.mark.parametrize("over_the_call_ms", [50.0, -50.0, 20.0])
def test_a_clock_that_runs_wrong_is_a_drift(
    clean: Samples, line: Samples, speech: list[SpeechRegion], over_the_call_ms: float
) -> None:
    drift = drift_between(
        clean, CLEAN_HZ, stretched(line, over_the_call_ms / 1000), LINE_HZ, speech
    )

    assert drift is not None
    per_minute = over_the_call_ms * 60 / 40
    assert drift.drift_ms_per_minute == pytest.approx(per_minute, rel=0.15, abs=2)


def test_a_frame_that_was_doubled_is_a_drift_of_20_ms(
    clean: Samples, line: Samples, speech: list[SpeechRegion]
) -> None:
    middle = 20 * LINE_HZ
    doubled = np.concatenate([line[:middle], silence(0.02), line[middle:]])

    drift = drift_between(clean, CLEAN_HZ, doubled, LINE_HZ, speech)

    assert drift is not None
    assert drift.offset_ms == pytest.approx(0, abs=0.5)
    assert drift.drift_ms == pytest.approx(20, abs=1)


def test_other_words_are_not_alike(
    line: Samples, speech: list[SpeechRegion], sentences: list[Samples]
) -> None:
    backwards = [part for each in sentences for part in (each[::-1], silence(12))]
    other = np.concatenate([silence(0.5), *backwards])

    drift = drift_between(other, LINE_HZ, line, LINE_HZ, speech)

    assert drift is None or drift.correlation < 0.8


def test_too_little_speech_is_not_compared(clean: Samples, line: Samples) -> None:
    assert drift_between(clean, CLEAN_HZ, line, LINE_HZ, []) is None
    assert drift_between(clean, CLEAN_HZ, line, LINE_HZ, [SpeechRegion(0.5, 1.4)]) is None


def test_tracks_without_sound_can_not_be_compared(speech: list[SpeechRegion]) -> None:
    for samples in (silence(0), silence(40)):
        assert drift_between(samples, CLEAN_HZ, samples, LINE_HZ, speech) is None


def test_any_sample_rate_can_be_compared(line: Samples, speech: list[SpeechRegion]) -> None:
    drift = drift_between(resample(line, LINE_HZ, 22_050), 22_050, line, LINE_HZ, speech)

    assert drift is not None
    assert abs(drift.offset_ms) < 0.5
