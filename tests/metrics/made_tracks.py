"""Tracks made for tests: sound that a voice activity detector takes for speech, and silence."""

from __future__ import annotations

import numpy as np

from orchestrator_assets.call.speech.base import Samples

HZ = 8_000

Spans = list[tuple[float, float]]


def voiced_noise(seconds: float, seed: int = 0) -> Samples:
    """Noise from 200 to 1500 Hz, which a voice activity detector takes for speech."""
    count = round(seconds * HZ)
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(size=count))
    frequencies = np.fft.rfftfreq(count, 1 / HZ)
    spectrum[(frequencies < 200) | (frequencies > 1500)] = 0
    noise = np.fft.irfft(spectrum, count)
    samples: Samples = (noise / np.abs(noise).max() * 12_000).astype(np.int16)
    return samples


def track_of(sounds: list[tuple[float, Samples]], seconds: float = 20.0) -> Samples:
    """A silent track with sounds at the given seconds."""
    track = np.zeros(round(seconds * HZ), dtype=np.int16)
    for at, sound in sounds:
        start = round(at * HZ)
        track[start : start + sound.size] = sound
    return track
