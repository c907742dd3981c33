"""Dropouts in speech are found where they are; the pauses of speech are not taken for any."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_assets.audio.gaps import Witness, gaps_in
from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import Samples, normalize, resample
from orchestrator_assets.audio.voice_activity import SpeechRegion

RATE_HZ = 8_000


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE_HZ), np.int16)


def on_the_line(samples: Samples) -> Samples:
    return decode_mulaw(encode_mulaw(samples))


@pytest.fixture
def call(sentences: list[Samples]) -> Samples:
    """One side: sentences joined by 200 ms, as the synthesiser does, and a turn after 3 s."""
    first, second, third = sentences
    return np.concatenate([silence(1), first, silence(0.2), second, silence(3), third, silence(1)])


def loud_moment(samples: Samples, seconds: float, after_seconds: float = 0.0) -> float:
    """Return where the loudest stretch of some length begins: sound on both sides of it."""
    margin = round(0.02 * RATE_HZ)
    first = round(after_seconds * RATE_HZ)
    edges = np.abs(samples[first:]).astype(np.float64)
    smooth = np.convolve(edges, np.ones(margin) / margin, "same")
    length = round(seconds * RATE_HZ)
    both = np.minimum(smooth[margin : -length - margin], smooth[length + margin : -margin])
    return (first + margin + int(np.argmax(both))) / RATE_HZ


def with_gap(samples: Samples, at_seconds: float, seconds: float, value: int = 0) -> Samples:
    spoilt = samples.copy()
    spoilt[round(at_seconds * RATE_HZ) : round((at_seconds + seconds) * RATE_HZ)] = value
    return spoilt


def test_pauses_of_speech_are_no_dropouts(call: Samples) -> None:
    assert gaps_in(call, RATE_HZ) == []
    assert gaps_in(on_the_line(call), RATE_HZ) == []
    assert gaps_in(resample(call, RATE_HZ, 16_000), 16_000) == []


@pytest.mark.parametrize("seconds", [0.02, 0.06, 0.2, 0.5])
@pytest.mark.parametrize("value", [0, 700])
def test_a_dropout_is_found_where_it_is(call: Samples, seconds: float, value: int) -> None:
    at = loud_moment(call, seconds)

    (gap,) = gaps_in(with_gap(on_the_line(call), at, seconds, value), RATE_HZ)

    assert gap.start_seconds == pytest.approx(at, abs=0.003)
    assert gap.end_seconds == pytest.approx(at + seconds, abs=0.003)


def test_every_dropout_is_found(call: Samples) -> None:
    places = [loud_moment(call, 0.04), loud_moment(call, 0.04, after_seconds=8.0)]
    spoilt = on_the_line(call)
    for at in places:
        spoilt = with_gap(spoilt, at, 0.04)

    found = gaps_in(spoilt, RATE_HZ)

    assert [gap.start_seconds for gap in found] == pytest.approx(sorted(places), abs=0.003)


def test_less_than_a_frame_is_no_dropout(call: Samples) -> None:
    assert gaps_in(with_gap(call, loud_moment(call, 0.015), 0.015), RATE_HZ) == []


def test_a_track_with_an_offset_drops_out_to_the_offset(call: Samples) -> None:
    at = loud_moment(call, 0.06)
    shifted = with_gap(call, at, 0.06) + np.int16(1_500)

    (gap,) = gaps_in(shifted, RATE_HZ)

    assert gap.start_seconds == pytest.approx(at, abs=0.003)


def test_a_voice_that_gives_way_to_the_other_side_has_not_dropped_out(call: Samples) -> None:
    at = loud_moment(call, 1.0)
    spoilt = with_gap(call, at, 1.0)
    barging_in = [SpeechRegion(at - 0.4, at + 0.8)]

    assert len(gaps_in(spoilt, RATE_HZ)) == 1
    assert gaps_in(spoilt, RATE_HZ, other_side=barging_in) == []


def test_a_short_dropout_is_one_though_the_other_side_speaks(call: Samples) -> None:
    at = loud_moment(call, 0.1)

    found = gaps_in(with_gap(call, at, 0.1), RATE_HZ, other_side=[SpeechRegion(at - 1, at + 1)])

    assert len(found) == 1


@pytest.fixture
def witness(call: Samples) -> Witness:
    return Witness(resample(call, RATE_HZ, 16_000), 16_000)


def test_a_witness_tells_of_what_is_lost_beside_a_pause(
    call: Samples, sentences: list[Samples], witness: Witness
) -> None:
    # From within the second sentence to far into the silence after it.
    ends = 1.2 + (sentences[0].size + sentences[1].size) / RATE_HZ
    lost = with_gap(on_the_line(call), ends - 0.8, 1.5)

    (gap,) = gaps_in(lost, RATE_HZ, other_side=[SpeechRegion(ends, ends + 2)], witness=witness)

    assert gap.start_seconds == pytest.approx(ends - 0.8, abs=0.1)
    assert ends - 0.4 < gap.end_seconds <= ends + 0.02


def test_a_witness_that_is_silent_too_clears_a_pause(call: Samples, witness: Witness) -> None:
    assert gaps_in(on_the_line(call), RATE_HZ, witness=witness) == []


def test_a_turn_that_is_lost_as_a_whole_is_one_dropout(
    call: Samples, sentences: list[Samples], witness: Witness
) -> None:
    begins = (call.size - RATE_HZ - sentences[2].size) / RATE_HZ
    lost = with_gap(on_the_line(call), begins - 0.1, sentences[2].size / RATE_HZ + 0.2)

    (gap,) = gaps_in(lost, RATE_HZ, witness=witness)

    assert gap.start_seconds == pytest.approx(begins, abs=0.1)
    assert gap.end_seconds == pytest.approx(begins + sentences[2].size / RATE_HZ, abs=0.1)


def test_a_voice_too_faint_for_mulaw_is_full_of_holes_and_not_reported(call: Samples) -> None:
    assert gaps_in(on_the_line(normalize(call, -66.0)), RATE_HZ) == []


def test_tracks_without_sound_have_no_dropouts() -> None:
    for samples in (silence(0), silence(3), np.full(1, 9, np.int16), np.full(800, 9, np.int16)):
        assert gaps_in(samples, RATE_HZ) == []
        assert gaps_in(samples, RATE_HZ, witness=Witness(silence(0), 16_000)) == []
