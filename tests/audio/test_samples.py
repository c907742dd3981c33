from __future__ import annotations

import math

import numpy as np
import pytest

from orchestrator_assets.audio.samples import (
    Samples,
    mix,
    normalize,
    resample,
    rms_dbfs,
)


def tone(frequency_hz: float, sample_rate_hz: int, amplitude: float = 0.5) -> Samples:
    time = np.arange(sample_rate_hz) / sample_rate_hz
    return np.rint(32767 * amplitude * np.sin(2 * np.pi * frequency_hz * time)).astype(np.int16)


def loudest_frequency_hz(samples: Samples, sample_rate_hz: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(samples.size)))
    return float(spectrum.argmax() * sample_rate_hz / samples.size)


@pytest.mark.parametrize(
    ("from_hz", "to_hz"), [(24000, 8000), (8000, 16000), (16000, 8000), (22050, 8000)]
)
def test_resampling_keeps_a_tone_its_level_and_its_duration(from_hz: int, to_hz: int) -> None:
    resampled = resample(tone(440, from_hz), from_hz, to_hz)
    assert resampled.dtype == np.int16
    assert resampled.size == pytest.approx(to_hz, abs=1)
    assert loudest_frequency_hz(resampled, to_hz) == pytest.approx(440, abs=1)
    assert rms_dbfs(resampled) == pytest.approx(rms_dbfs(tone(440, from_hz)), abs=0.1)


def test_resampling_down_lets_nothing_above_the_new_band_fold_into_it() -> None:
    assert rms_dbfs(resample(tone(6000, 16000), 16000, 8000)) < -60


def test_resampling_is_repeatable_and_leaves_digital_silence_silent() -> None:
    samples = tone(440, 24000)
    assert np.array_equal(resample(samples, 24000, 8000), resample(samples, 24000, 8000))
    assert not resample(np.zeros(24000, dtype=np.int16), 24000, 8000).any()
    assert resample(np.zeros(0, dtype=np.int16), 24000, 8000).size == 0


def test_resampling_a_full_scale_square_saturates_instead_of_wrapping() -> None:
    square = np.where(tone(100, 16000) >= 0, 32767, -32768).astype(np.int16)
    resampled = resample(square, 16000, 8000).astype(np.int32)
    assert np.abs(np.diff(resampled)).max() <= 65535
    assert np.mean(np.sign(resampled) == np.sign(square[::2].astype(np.int32))) > 0.95


def test_levels_are_relative_to_full_scale() -> None:
    assert rms_dbfs(np.full(100, -32768, dtype=np.int16)) == pytest.approx(0.0)
    assert rms_dbfs(tone(440, 8000, amplitude=1.0)) == pytest.approx(-3.01, abs=0.01)
    assert rms_dbfs(np.zeros(100, dtype=np.int16)) == -math.inf
    assert rms_dbfs(np.zeros(0, dtype=np.int16)) == -math.inf


def test_normalizing_reaches_the_level_from_above_and_below() -> None:
    for amplitude in (0.01, 0.9):
        assert rms_dbfs(normalize(tone(440, 8000, amplitude), -22)) == pytest.approx(-22, abs=0.05)


def test_normalizing_silence_leaves_silence() -> None:
    assert not normalize(np.zeros(100, dtype=np.int16), -22).any()


def test_mixing_pads_the_shorter_track_and_saturates() -> None:
    loud = np.array([30000, -30000, 5], dtype=np.int16)
    also_loud = np.array([30000, -30000, 5, 7, 9], dtype=np.int16)
    assert mix(loud, also_loud).tolist() == [32767, -32768, 10, 7, 9]
    assert mix(also_loud, loud).tolist() == [32767, -32768, 10, 7, 9]
    assert loud.tolist() == [30000, -30000, 5]
