"""How far two tracks of the same sound are apart in time, and whether that changes over the call.

The caller's clean track and its line track carry one voice. They are recorded frame by frame, so
that one position is one moment in both. Where a frame is lost or doubled on one of them, or one of
the clocks runs fast, they come apart: by a constant offset, or by one that grows (drift). Both are
measured where the caller first speaks and where it last does, by cross-correlation of envelopes,
which survive what a telephone line does to a voice. The agent has one track only; its times can
only be held against the event log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.audio.voice_activity import SpeechRegion

_ENVELOPE_HZ = 1000
_SMOOTHING_STEPS = 5
_LARGEST_OFFSET_SECONDS = 1.0
_MARGIN_SECONDS = 0.2
_MOST_SPEECH_SECONDS = 2.0
"""In a window: about a turn. A jump in the middle of one goes unseen."""
_LEAST_SPEECH_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Offset:
    """By how much the second track is late at one place, and how alike the envelopes are there."""

    at_seconds: float
    offset_ms: float
    correlation: float


@dataclass(frozen=True, slots=True)
class Drift:
    """Offsets at the head and at the tail of a call. Positive: the second track is late."""

    head: Offset
    tail: Offset

    @property
    def offset_ms(self) -> float:
        """How late the second track is at the head."""
        return self.head.offset_ms

    @property
    def drift_ms(self) -> float:
        """How much later it is at the tail."""
        return self.tail.offset_ms - self.head.offset_ms

    @property
    def drift_ms_per_minute(self) -> float:
        """The same for a minute of the call."""
        return self.drift_ms / ((self.tail.at_seconds - self.head.at_seconds) / 60)

    @property
    def correlation(self) -> float:
        """How alike the envelopes are where they are least so: 1 is the same."""
        return min(self.head.correlation, self.tail.correlation)


def drift_between(
    first: Samples,
    first_rate_hz: int,
    second: Samples,
    second_rate_hz: int,
    speech: Sequence[SpeechRegion],
) -> Drift | None:
    """Return how far `second` is behind `first`, to about a millisecond; up to a second is found.

    `speech` is where one of them speaks. None if that is less than a second in all.
    """
    windows = _windows(speech)
    if windows is None:
        return None
    head, tail = (
        _offset(first, first_rate_hz, second, second_rate_hz, window) for window in windows
    )
    return Drift(head, tail) if head is not None and tail is not None else None


@dataclass(frozen=True, slots=True)
class _Window:
    start_seconds: float
    end_seconds: float

    @property
    def middle_seconds(self) -> float:
        return (self.start_seconds + self.end_seconds) / 2


def _windows(speech: Sequence[SpeechRegion]) -> tuple[_Window, _Window] | None:
    """Return where speech is compared: no moment of it in both, the same amount in each."""
    amount = min(_MOST_SPEECH_SECONDS, sum(region.duration_seconds for region in speech) / 2)
    if amount < _LEAST_SPEECH_SECONDS:
        return None
    left = amount
    for region in speech:
        if region.duration_seconds >= left:
            head = _Window(speech[0].start_seconds, region.start_seconds + left)
            break
        left -= region.duration_seconds
    left = amount
    for region in reversed(speech):
        if region.duration_seconds >= left:
            return head, _Window(region.end_seconds - left, speech[-1].end_seconds)
        left -= region.duration_seconds
    return None


def _offset(
    first: Samples, first_rate_hz: int, second: Samples, second_rate_hz: int, window: _Window
) -> Offset | None:
    start = window.start_seconds - _MARGIN_SECONDS
    end = window.end_seconds + _MARGIN_SECONDS
    reach = _LARGEST_OFFSET_SECONDS
    still = _envelope(first, first_rate_hz, start, end)
    moved = _envelope(second, second_rate_hz, start - reach, end + reach)
    alike = _correlations(still, moved)
    best = int(np.argmax(alike))
    if not alike[best] > 0:
        return None
    steps = best + _beside_peak(alike, best) - reach * _ENVELOPE_HZ
    return Offset(window.middle_seconds, 1000 * steps / _ENVELOPE_HZ, float(alike[best]))


def _envelope(
    samples: Samples, sample_rate_hz: int, start_seconds: float, end_seconds: float
) -> NDArray[np.float64]:
    """Return the loudness of every millisecond of a span; silent beyond the ends of the track."""
    steps = np.arange(
        round(start_seconds * _ENVELOPE_HZ), round(end_seconds * _ENVELOPE_HZ) + _SMOOTHING_STEPS
    )
    edges = np.clip(np.rint(steps * (sample_rate_hz / _ENVELOPE_HZ)), 0, samples.size)
    edges = edges.astype(np.int64)
    inside = samples[edges[0] : edges[-1]].astype(np.int64)
    sums = np.concatenate(([0], np.cumsum(np.abs(inside))))[edges - edges[0]]
    smooth = (sums[_SMOOTHING_STEPS:] - sums[:-_SMOOTHING_STEPS]) / (
        _SMOOTHING_STEPS * sample_rate_hz / _ENVELOPE_HZ
    )
    # Closer to how loud it sounds; else a few vowels would decide.
    loudness: NDArray[np.float64] = np.sqrt(smooth)
    return loudness


def _correlations(still: NDArray[np.float64], moved: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation coefficient of `still` with each part of `moved` of its length."""
    count = still.size
    still = still - still.mean()
    spread = float(np.sqrt(still @ still))
    size = 1 << (moved.size + count).bit_length()
    products = np.fft.irfft(np.fft.rfft(moved, size) * np.conj(np.fft.rfft(still, size)), size)
    sums = np.concatenate(([0.0], np.cumsum(moved)))
    squares = np.concatenate(([0.0], np.cumsum(np.square(moved))))
    within = sums[count:] - sums[:-count]
    spreads = np.sqrt(
        np.maximum(squares[count:] - squares[:-count] - np.square(within) / count, 0.0)
    )
    scale = spread * spreads
    alike = np.zeros(scale.size)
    np.divide(products[: scale.size], scale, out=alike, where=scale > 1e-6 * max(scale.max(), 1e-9))
    return alike


def _beside_peak(values: NDArray[np.float64], peak: int) -> float:
    """Return how far the top of the parabola through a peak and its neighbours is from it."""
    if not 0 < peak < values.size - 1:
        return 0.0
    before, at, after = (float(value) for value in values[peak - 1 : peak + 2])
    bend = before - 2 * at + after
    return 0.5 * (before - after) / bend if bend < 0 else 0.0
