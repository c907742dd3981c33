from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.audio.waveform import WaveformMark, WaveformSpan, data_uri, waveform_svg

SVG = "{http://www.w3.org/2000/svg}"
SILENCE = np.zeros(8000, dtype=np.int16)
NOISE: Samples = np.random.default_rng(0).normal(0, 4000, 8000 * 30).astype(np.int16)


def bars_of(svg: str) -> list[list[tuple[float, float]]]:
    """Return (position, height) of every bar, caller first."""
    paths = [path.get("d", "") for path in ElementTree.fromstring(svg).iter(f"{SVG}path")]  # noqa: S314
    return [
        [(float(x), float(height)) for x, height in re.findall(r"M([\d.]+) [\d.-]+v([\d.]+)", path)]
        for path in paths
        if "v" in path
    ]


def texts_of(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def test_sound_is_drawn_where_it_is_and_as_loud_as_it_is() -> None:
    caller, agent = np.zeros((2, 80000), dtype=np.int16)
    caller[:20000] = 16000
    agent[40000:60000] = 4000
    caller_bars, agent_bars = bars_of(waveform_svg(caller, agent, 8000))
    assert max(x for x, _ in caller_bars) < min(x for x, _ in agent_bars)
    assert max(height for _, height in caller_bars) > 2 * max(height for _, height in agent_bars)
    middle_of_plot = 58 + (800 - 58 - 14) / 2
    assert min(x for x, _ in agent_bars) == pytest.approx(middle_of_plot, abs=3)


@pytest.mark.parametrize("minutes", [0.1, 1, 30])
def test_the_picture_is_small_however_long_the_call(minutes: float) -> None:
    track = np.resize(NOISE, int(minutes * 60 * 8000))
    svg = waveform_svg(track, track, 8000)
    assert len(svg) < 40_000
    assert len(data_uri(svg)) < 50_000


def test_the_axis_tells_the_time() -> None:
    labels = texts_of(waveform_svg(NOISE, NOISE, 8000))
    assert labels[:3] == ["0:00", "0:05", "0:10"]
    assert "0:30" in labels
    assert labels[-2:] == ["Caller", "Agent"]


def test_an_hour_has_readable_labels_too() -> None:
    labels = texts_of(waveform_svg(np.resize(NOISE, 3600 * 8000), SILENCE, 8000))
    assert "60:00" in labels
    assert len(labels) <= 16


def test_spans_are_shaded_on_their_own_track_and_labelled() -> None:
    spans = [
        WaveformSpan("caller", 0.2, 0.8, "1 <late>"),
        WaveformSpan("agent", 0.5, 99.0),
    ]
    svg = waveform_svg(SILENCE, SILENCE, 8000, spans=spans)
    shades = list(ElementTree.fromstring(svg).iter(f"{SVG}rect"))[1:]  # noqa: S314
    caller, agent = shades
    assert float(caller.get("y", 0)) < 80 <= float(agent.get("y", 0))
    assert float(agent.get("x", 0)) + float(agent.get("width", 0)) == pytest.approx(800 - 14)
    assert "1 <late>" in texts_of(svg)


def test_silence_and_nothing_are_drawn_without_bars() -> None:
    nothing = np.zeros(0, dtype=np.int16)
    assert bars_of(waveform_svg(SILENCE, SILENCE, 8000)) == []
    assert bars_of(waveform_svg(nothing, nothing, 8000)) == []


def test_faint_noise_is_not_blown_up() -> None:
    (caller,) = bars_of(waveform_svg((NOISE / 20).astype(np.int16), SILENCE, 8000))
    assert max(height for _, height in caller) < 50


def test_the_data_uri_holds_the_picture() -> None:
    svg = waveform_svg(NOISE, NOISE, 8000)
    kind, encoded = data_uri(svg).split(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(encoded).decode() == svg


def test_an_interrupted_turn_is_marked_where_it_ends() -> None:
    silence = np.zeros(80_000, np.int16)
    spans = [WaveformSpan("agent", 0.0, 5.0, interrupted=True), WaveformSpan("caller", 5.0, 6.0)]

    svg = waveform_svg(silence, silence, 8_000, spans=spans)

    assert svg.count(">interrupted</text>") == 1
    assert 'stroke-dasharray="3 2"' in svg


def test_what_is_wrong_at_a_place_is_marked_there_and_says_so() -> None:
    silence = np.zeros(80_000, np.int16)
    marks = [WaveformMark("agent", 5.0, 5.06, "drops out for 60 ms & more")]

    svg = waveform_svg(silence, silence, 8_000, marks=marks)

    (mark,) = (
        rect
        for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect")  # noqa: S314
        if rect.find(f"{SVG}title") is not None
    )
    assert float(mark.get("x", 0)) == pytest.approx(58 + (800 - 58 - 14) / 2, abs=0.1)
    assert float(mark.get("width", 0)) >= 3
    assert mark.findtext(f"{SVG}title") == "drops out for 60 ms & more"
