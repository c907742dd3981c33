"""A picture of a call: caller above, agent below, along one time axis.

A few kilobytes of SVG that needs nothing else, so that it can be put into Dagster's metadata.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.samples import FULL_SCALE, Samples

Speaker = Literal["caller", "agent"]

_COLOURS: dict[Speaker, str] = {"caller": "#3f7187", "agent": "#b4694b"}
_NAMES: dict[Speaker, str] = {"caller": "Caller", "agent": "Agent"}
_PAPER, _LINE, _INK, _ALERT = "#fbfaf8", "#e4e0da", "#6f6a63", "#b3261e"
_MARGIN_LEFT, _MARGIN_RIGHT, _MARGIN_TOP, _AXIS_HEIGHT = 58, 14, 8, 22
_BAR_PITCH, _BAR_WIDTH = 2.5, 1.5
_TICK_STEPS_SECONDS = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800)
_MIN_TICK_SPACING_PX = 56
_QUIETEST_PEAK = 0.05
"""Quieter tracks are not blown up to full height: noise should look like noise."""
_LOUDNESS_EXPONENT = 0.7
"""Softens the contrast, so that quiet speech can be told from silence."""


@dataclass(frozen=True, slots=True)
class WaveformSpan:
    """A stretch of one track to be shaded, such as a turn; `label` is written into it.

    `interrupted` marks its end as one the other side spoke over.
    """

    speaker: Speaker
    start_seconds: float
    end_seconds: float
    label: str = ""
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class WaveformMark:
    """A stretch of one track to be pointed out, such as a dropout; `label` says what it is."""

    speaker: Speaker
    start_seconds: float
    end_seconds: float
    label: str


def waveform_svg(
    caller: Samples,
    agent: Samples,
    sample_rate_hz: int,
    *,
    width_px: int = 800,
    height_px: int = 180,
    spans: Iterable[WaveformSpan] = (),
    marks: Iterable[WaveformMark] = (),
) -> str:
    """Return the call as an SVG of about 10 kB at 800 pixels, whatever its length.

    Tracks are mono PCM16; the shorter one is silent at its end. Both have the same scale.
    """
    layout = _Layout(
        width_px=width_px,
        height_px=height_px,
        seconds=max(caller.size, agent.size, 1) / sample_rate_hz,
    )
    peaks = {
        "caller": _peaks(caller, sample_rate_hz, layout),
        "agent": _peaks(agent, sample_rate_hz, layout),
    }
    loudest = max(float(peaks["caller"].max()), float(peaks["agent"].max()), _QUIETEST_PEAK)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width_px}" height="{height_px}" '
        f'viewBox="0 0 {width_px} {height_px}" font-family="system-ui,sans-serif" '
        'font-size="11" role="img" aria-label="Waveform of caller and agent">'
    )
    parts = (
        opening,
        f'<rect width="{width_px}" height="{height_px}" rx="6" fill="{_PAPER}"/>',
        *_axis(layout),
        *(_span(span, layout) for span in spans),
        *_track("caller", peaks["caller"] / loudest, layout),
        *_track("agent", peaks["agent"] / loudest, layout),
        *(_mark(mark, layout) for mark in marks),
        "</svg>",
    )
    return "".join(parts)


def data_uri(svg: str) -> str:
    """Return the picture as a data URI, for an image in Markdown or HTML."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")


@dataclass(frozen=True, slots=True)
class _Layout:
    width_px: int
    height_px: int
    seconds: float

    @property
    def plot_width(self) -> int:
        return self.width_px - _MARGIN_LEFT - _MARGIN_RIGHT

    @property
    def track_height(self) -> float:
        return (self.height_px - _MARGIN_TOP - _AXIS_HEIGHT) / 2

    @property
    def bar_count(self) -> int:
        return max(1, int(self.plot_width / _BAR_PITCH))

    def x(self, seconds: float) -> float:
        inside = min(max(seconds, 0.0), self.seconds)
        return _MARGIN_LEFT + inside / self.seconds * self.plot_width

    def top(self, speaker: Speaker) -> float:
        return _MARGIN_TOP + (0 if speaker == "caller" else self.track_height)

    def middle(self, speaker: Speaker) -> float:
        return self.top(speaker) + self.track_height / 2


def _peaks(samples: Samples, sample_rate_hz: int, layout: _Layout) -> NDArray[np.float64]:
    """Return the loudest sample of every bar, full scale 1.0."""
    total = round(layout.seconds * sample_rate_hz)
    edges = np.linspace(0, total, layout.bar_count, endpoint=False).astype(np.int64)
    magnitude = np.zeros(total, dtype=np.float64)
    magnitude[: samples.size] = np.abs(samples.astype(np.float64)) / FULL_SCALE
    # A call shorter than its bars repeats an edge, which reduceat reads as that one sample.
    return np.maximum.reduceat(magnitude, edges)


def _track(speaker: Speaker, heights: NDArray[np.float64], layout: _Layout) -> Iterator[str]:
    """Yield the name, the base line and one upright bar for every bucket with sound."""
    middle, colour = layout.middle(speaker), _COLOURS[speaker]
    yield (
        f'<text x="{_MARGIN_LEFT - 10}" y="{middle + 4:.0f}" text-anchor="end" '
        f'font-weight="600" fill="{colour}">{_NAMES[speaker]}</text>'
    )
    yield (
        f'<path d="M{_MARGIN_LEFT} {middle:.1f}h{layout.plot_width}" stroke="{colour}" '
        'stroke-opacity=".35"/>'
    )
    reach = layout.track_height / 2 - 6
    bars = []
    for index, height in enumerate(np.power(heights, _LOUDNESS_EXPONENT) * reach):
        if height >= 0.5:
            x = _MARGIN_LEFT + (index + 0.5) * layout.plot_width / layout.bar_count
            bars.append(f"M{x:.1f} {middle - height:.1f}v{2 * height:.1f}")
    if bars:
        yield (
            f'<path d="{"".join(bars)}" stroke="{colour}" stroke-width="{_BAR_WIDTH}" '
            'stroke-linecap="round"/>'
        )


def _span(span: WaveformSpan, layout: _Layout) -> str:
    left, right = layout.x(span.start_seconds), layout.x(span.end_seconds)
    top, colour = layout.top(span.speaker) + 2, _COLOURS[span.speaker]
    shade = (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 1):.1f}" '
        f'height="{layout.track_height - 4:.1f}" rx="3" fill="{colour}" fill-opacity=".1"/>'
    )
    if span.interrupted:
        shade += _interruption(right, top, layout)
    if not span.label:
        return shade
    return shade + (
        f'<text x="{left + 3:.1f}" y="{top + 10:.1f}" font-size="9" fill="{colour}">'
        f"{escape(span.label)}</text>"
    )


def _mark(mark: WaveformMark, layout: _Layout) -> str:
    left, right = layout.x(mark.start_seconds), layout.x(mark.end_seconds)
    bottom = layout.top(mark.speaker) + layout.track_height - 5
    return (
        f'<rect x="{left:.1f}" y="{bottom:.1f}" width="{max(right - left, 3):.1f}" height="4" '
        f'fill="{_ALERT}"><title>{escape(mark.label)}</title></rect>'
    )


def _interruption(x: float, top: float, layout: _Layout) -> str:
    # The interrupted side falls silent, so there is room for the word after the mark.
    return (
        f'<path d="M{x:.1f} {_MARGIN_TOP}V{layout.height_px - _AXIS_HEIGHT}" '
        f'stroke="{_ALERT}" stroke-dasharray="3 2"/>'
        f'<text x="{x + 4:.1f}" y="{top + 10:.1f}" font-size="9" font-weight="600" '
        f'fill="{_ALERT}" stroke="{_PAPER}" stroke-width="3" paint-order="stroke">interrupted'
        "</text>"
    )


def _axis(layout: _Layout) -> Iterator[str]:
    bottom = layout.height_px - _AXIS_HEIGHT
    step = _tick_step(layout)
    for tick in range(math.floor(layout.seconds / step + 1e-9) + 1):
        x = layout.x(tick * step)
        yield f'<path d="M{x:.1f} {_MARGIN_TOP}V{bottom + 3}" stroke="{_LINE}"/>'
        yield (
            f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle" fill="{_INK}">'
            f"{_clock(tick * step, step)}</text>"
        )


def _tick_step(layout: _Layout) -> float:
    for step in _TICK_STEPS_SECONDS:
        if step / layout.seconds * layout.plot_width >= _MIN_TICK_SPACING_PX:
            return step
    return layout.seconds / 10


def _clock(seconds: float, step: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}:{rest:04.1f}" if step < 1 else f"{int(minutes)}:{int(rest):02d}"
