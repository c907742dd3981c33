"""How loud speech is, whatever lies between, and where it is too quiet."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_assets.audio.levels import levels_of, quiet_stretches
from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import FULL_SCALE, Samples, normalize
from orchestrator_assets.audio.voice_activity import SpeechRegion, speech_regions

RATE_HZ = 8_000


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE_HZ), np.int16)


def noise(seconds: float, level_dbfs: float) -> Samples:
    sound = np.random.default_rng(0).normal(0, 2_000, round(seconds * RATE_HZ)).astype(np.int16)
    return normalize(sound, level_dbfs)


def tone(seconds: float, peak: float) -> Samples:
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (peak * FULL_SCALE * np.sin(2 * np.pi * 400 * times)).astype(np.int16)


def test_the_level_of_speech_does_not_depend_on_the_pauses() -> None:
    said = tone(2, peak=0.2)
    track = np.concatenate([silence(6), said, silence(12)])

    levels = levels_of(track, RATE_HZ, [SpeechRegion(6.0, 8.0)])

    assert levels.speech_dbfs == pytest.approx(20 * np.log10(0.2 / np.sqrt(2)), abs=0.05)
    assert levels.peak_dbfs == pytest.approx(20 * np.log10(0.2), abs=0.05)
    assert levels.noise_floor_dbfs is None
    assert levels.silence_ratio == pytest.approx(0.9)
    assert levels.dc_offset == 0


def test_noise_between_speech_has_its_own_level() -> None:
    track = noise(10, -50.0)
    track[4 * RATE_HZ : 6 * RATE_HZ] = tone(2, peak=0.2)

    levels = levels_of(track, RATE_HZ, [SpeechRegion(4.0, 6.0)])

    assert levels.noise_floor_dbfs == pytest.approx(-50, abs=1)
    assert levels.silence_ratio == 0


@pytest.mark.parametrize("offset", [-0.03, 0.015])
def test_an_offset_is_measured_and_is_no_sound(sentences: list[Samples], offset: float) -> None:
    plain = np.concatenate([silence(2), sentences[0], silence(2)])
    shifted = plain + np.int16(offset * FULL_SCALE)
    speech = speech_regions(plain)

    measured, expected = (levels_of(each, RATE_HZ, speech) for each in (shifted, plain))

    assert measured.dc_offset == pytest.approx(offset, abs=1e-3)
    assert measured.speech_dbfs == pytest.approx(expected.speech_dbfs, abs=0.05)
    assert measured.peak_dbfs == pytest.approx(expected.peak_dbfs, abs=0.05)
    assert measured.silence_ratio == expected.silence_ratio


def test_clipped_speech_that_is_lopsided_has_no_offset(sentences: list[Samples]) -> None:
    lopsided = np.clip(sentences[0].astype(np.int32) * 2, -32_768, 6_000).astype(np.int16)
    track = np.concatenate([lopsided, silence(0.5), lopsided])

    assert abs(levels_of(track, RATE_HZ, speech_regions(track)).dc_offset) < 0.01


def test_nothing_and_silence_have_no_level() -> None:
    for track in (silence(0), silence(3), np.full(1, 99, np.int16)):
        levels = levels_of(track, RATE_HZ, [])
        assert (levels.speech_dbfs, levels.peak_dbfs, levels.noise_floor_dbfs) == (None, None, None)
        assert levels.silence_ratio == 1
        assert quiet_stretches(track, RATE_HZ, -45.0) == []


@pytest.mark.parametrize("level_dbfs", [-66.0, -55.0, -48.0])
@pytest.mark.parametrize("rate_hz", [8_000, 16_000])
def test_a_turn_that_is_too_quiet_is_found_where_it_is(
    sentences: list[Samples], level_dbfs: float, rate_hz: int
) -> None:
    first, second, third = sentences
    quiet = decode_mulaw(encode_mulaw(normalize(second, level_dbfs)))
    track = np.concatenate([silence(1), first, silence(2), quiet, silence(2), third])
    if rate_hz != RATE_HZ:
        track = np.repeat(track, rate_hz // RATE_HZ)

    (found,) = quiet_stretches(track, rate_hz, -45.0)

    begins = 3 + first.size / RATE_HZ
    assert found.start_seconds == pytest.approx(begins, abs=0.1)
    assert found.end_seconds == pytest.approx(begins + quiet.size / RATE_HZ, abs=0.25)
    assert found.speech_dbfs == pytest.approx(level_dbfs, abs=3)


def test_speech_of_usual_level_and_quiet_noise_are_not_too_quiet(sentences: list[Samples]) -> None:
    spoken = np.concatenate([silence(1), *sentences, silence(1)])
    assert quiet_stretches(spoken, RATE_HZ, -45.0) == []
    assert quiet_stretches(noise(5, -60.0), RATE_HZ, -45.0) == []
    hum = np.concatenate([silence(1), tone(2, peak=0.001), silence(1)])
    assert quiet_stretches(hum, RATE_HZ, -45.0) == []
    noisy = noise(spoken.size / RATE_HZ, -60.0)[: spoken.size]
    assert quiet_stretches(spoken + noisy, RATE_HZ, -45.0) == []
