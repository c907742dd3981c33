"""What is cut off flat, at full scale or below, is found where it is; loud speech is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_assets.audio.clipping import clipped_samples, clipping_of
from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import Samples, normalize

RATE_HZ = 8_000


def amplified(samples: Samples, gain: float, ceiling: int = 32_767) -> Samples:
    """Play too loud, through something that takes no more than `ceiling`."""
    return np.clip(samples.astype(np.float64) * gain, -ceiling, ceiling).astype(np.int16)


def quieter(samples: Samples, gain: float) -> Samples:
    return np.rint(samples * gain).astype(np.int16)


def on_the_line(samples: Samples) -> Samples:
    decoded: Samples = decode_mulaw(encode_mulaw(samples))
    return decoded


def flat_tops(samples: Samples, ceiling: int) -> tuple[float, float]:
    """Return in seconds where the first and the last three samples are at the ceiling."""
    at_top = [
        index
        for index in range(samples.size - 2)
        if samples[index] in {ceiling, -ceiling}
        and samples[index] == samples[index + 1] == samples[index + 2]
    ]
    return at_top[0] / RATE_HZ, (at_top[-1] + 3) / RATE_HZ


def speech(sentences: list[Samples]) -> Samples:
    """A second of silence, then a sentence, three times."""
    silence = np.zeros(RATE_HZ, np.int16)
    return np.concatenate([part for sentence in sentences for part in (silence, sentence)])


def test_single_peaks_at_full_scale_are_not_clipping() -> None:
    samples = np.zeros(100, np.int16)
    samples[[10, 20, 21]] = 32_767
    assert clipped_samples(samples) == 0
    samples[40:44] = -32_768
    assert clipped_samples(samples) == 4


def test_nothing_is_clipped_in_nothing() -> None:
    nothing = np.zeros(0, np.int16)
    assert clipped_samples(nothing) == 0
    assert clipping_of(nothing, RATE_HZ).stretches == ()
    assert clipping_of(np.full(1, -32_768, np.int16), RATE_HZ).share == 0


@pytest.mark.parametrize("level_dbfs", [-40.0, -22.0, -16.0])
def test_speech_is_not_clipped_on_either_side_of_the_line(
    sentences: list[Samples], level_dbfs: float
) -> None:
    said = normalize(speech(sentences), level_dbfs)
    assert clipping_of(said, RATE_HZ).stretches == ()
    assert clipping_of(on_the_line(said), RATE_HZ).stretches == ()


@pytest.mark.parametrize("codec", [lambda samples: samples, on_the_line], ids=["pcm16", "mulaw"])
@pytest.mark.parametrize(
    ("ceiling", "gain_after"),
    [(32_767, 1.0), (23_198, 1.0), (32_767, 0.5), (23_198, 0.4)],
    ids=["full_scale", "-3dBFS", "made_quieter", "-3dBFS_and_made_quieter"],
)
def test_a_clipped_sentence_is_found_where_it_is(
    sentences: list[Samples], codec: object, ceiling: int, gain_after: float
) -> None:
    first, second, third = sentences
    clipped = amplified(second, 12, ceiling)
    said = speech([amplified(first, 0.5), clipped, amplified(third, 0.5)])
    assert callable(codec)

    (stretch,) = clipping_of(codec(quieter(said, gain_after)), RATE_HZ).stretches

    first_top, last_top = flat_tops(clipped, ceiling)
    begins = 2 + first.size / RATE_HZ
    assert stretch.start_seconds == pytest.approx(begins + first_top, abs=0.02)
    assert stretch.end_seconds == pytest.approx(begins + last_top, abs=0.02)
    assert stretch.share > 0.02


def test_two_clipped_places_are_two_stretches(sentences: list[Samples]) -> None:
    first, second, third = sentences
    said = speech([amplified(first, 15), second, amplified(third, 15)])

    before, after = clipping_of(said, RATE_HZ).stretches

    assert before.end_seconds < 1 + first.size / RATE_HZ
    assert after.start_seconds > 3 + (first.size + second.size) / RATE_HZ


@pytest.mark.parametrize("polarity", [1, -1])
def test_only_one_polarity_may_be_clipped(sentences: list[Samples], polarity: int) -> None:
    loud = speech(sentences).astype(np.int32) * 2 * polarity
    cut = (np.clip(loud, -32_000, 6_000) * polarity).astype(np.int16)

    assert clipping_of(cut, RATE_HZ).stretches


def test_a_touch_of_full_scale_now_and_then_is_not_heard(sentences: list[Samples]) -> None:
    touched = sentences[0].copy()
    for start in (2_000, 2_500, 3_000):
        touched[start : start + 4] = 32_767

    clipping = clipping_of(touched, RATE_HZ)

    assert clipping.stretches == ()
    assert clipping.share == pytest.approx(12 / touched.size)


def test_a_pure_tone_touches_its_peak_without_being_clipped() -> None:
    times = np.arange(4 * RATE_HZ) / RATE_HZ
    for hertz in (200, 440, 1000):
        tone = (20_000 * np.sin(2 * np.pi * hertz * times + 0.1)).astype(np.int16)
        assert clipping_of(tone, RATE_HZ).stretches == ()
