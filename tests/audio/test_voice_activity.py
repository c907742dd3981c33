from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import Samples, resample
from orchestrator_assets.audio.voice_activity import (
    FRAME_SAMPLES,
    FRAME_SECONDS,
    ONSET_SECONDS,
    SpeechRegion,
    TurnDetector,
    TurnEdge,
    VoiceActivityDetector,
    speech_regions,
)

GAP_SECONDS = 1.0
SILENT_FRAME = np.zeros(FRAME_SAMPLES, dtype=np.int16)


def track_of(sentences: list[Samples]) -> tuple[Samples, list[SpeechRegion]]:
    """Return a telephone track with a gap before, between and after, and where the speech is."""
    gap = np.zeros(int(GAP_SECONDS * 8000), dtype=np.int16)
    parts, spoken, position = [gap], [], gap.size
    for sentence in sentences:
        spoken.append(SpeechRegion(position / 8000, (position + sentence.size) / 8000))
        parts += [sentence, gap]
        position += sentence.size + gap.size
    return decode_mulaw(encode_mulaw(np.concatenate(parts))), spoken


def frames_of(track: Samples) -> Iterator[tuple[float, Samples]]:
    """Yield every frame with the time at which it ends."""
    for index in range(track.size // FRAME_SAMPLES):
        frame = track[index * FRAME_SAMPLES : (index + 1) * FRAME_SAMPLES]
        yield (index + 1) * FRAME_SECONDS, frame


def edges_in(track: Samples, end_of_turn_seconds: float) -> list[tuple[float, TurnEdge]]:
    detector = TurnDetector(end_of_turn_seconds)
    return [(at, edge) for at, frame in frames_of(track) if (edge := detector.push(frame))]


def test_every_turn_starts_and_ends_once_and_on_time(sentences: list[Samples]) -> None:
    track, spoken = track_of(sentences)
    edges = edges_in(track, end_of_turn_seconds=0.7)
    assert [edge for _, edge in edges] == [TurnEdge.SPEECH_STARTED, TurnEdge.TURN_ENDED] * 3
    starts, ends = edges[::2], edges[1::2]
    for region, (started_at, _), (ended_at, _) in zip(spoken, starts, ends, strict=True):
        assert started_at - region.start_seconds == pytest.approx(ONSET_SECONDS, abs=0.1)
        assert ended_at - region.end_seconds == pytest.approx(0.7, abs=0.06)


def test_a_pause_shorter_than_the_end_of_turn_belongs_to_the_turn(sentences: list[Samples]) -> None:
    track, _ = track_of(sentences)
    edges = edges_in(track, end_of_turn_seconds=GAP_SECONDS + 0.5)
    assert [edge for _, edge in edges] == [TurnEdge.SPEECH_STARTED]


def test_speaking_holds_from_the_start_to_the_end_of_the_turn(sentences: list[Samples]) -> None:
    track, _ = track_of(sentences[:1])
    detector = TurnDetector(0.5)
    speaking = False
    for _, frame in frames_of(track):
        edge = detector.push(frame)
        speaking = edge is TurnEdge.SPEECH_STARTED or (speaking and edge is None)
        assert detector.speaking is speaking
    assert not detector.speaking


def test_the_same_track_gives_the_same_edges_every_time(sentences: list[Samples]) -> None:
    track, _ = track_of(sentences)
    assert edges_in(track, 0.5) == edges_in(track, 0.5)


def test_digital_silence_is_never_speech_even_right_after_speech(sentences: list[Samples]) -> None:
    detector = VoiceActivityDetector()
    assert not any(detector.is_speech(SILENT_FRAME) for _ in range(50))
    assert any(detector.is_speech(frame) for _, frame in frames_of(sentences[0]))
    assert not detector.is_speech(SILENT_FRAME)


def test_a_click_starts_no_turn() -> None:
    track = np.zeros(16000, dtype=np.int16)
    track[8000:8240] = np.random.default_rng(0).normal(0, 8000, 240).astype(np.int16)
    assert edges_in(track, 0.5) == []
    assert speech_regions(track) == []


def test_regions_are_where_the_sentences_are(sentences: list[Samples]) -> None:
    track, spoken = track_of(sentences)
    regions = speech_regions(track, merge_gap_seconds=0.5)
    assert len(regions) == len(spoken)
    for region, expected in zip(regions, spoken, strict=True):
        assert region.start_seconds == pytest.approx(expected.start_seconds, abs=0.11)
        assert region.end_seconds == pytest.approx(expected.end_seconds, abs=0.04)
        assert region.duration_seconds == region.end_seconds - region.start_seconds


def test_regions_merge_across_gaps_up_to_the_limit(sentences: list[Samples]) -> None:
    track, _ = track_of(sentences)
    assert len(speech_regions(track, merge_gap_seconds=GAP_SECONDS + 0.2)) == 1
    # "No, that is all." and "Thank you very much" are two with a short limit.
    assert len(speech_regions(track, merge_gap_seconds=0.1)) > len(sentences)


def test_regions_are_found_at_16_khz_too(sentences: list[Samples]) -> None:
    track, spoken = track_of(sentences)
    wide = resample(track, 8000, 16000)
    assert len(speech_regions(wide, sample_rate_hz=16000, merge_gap_seconds=0.5)) == len(spoken)


def test_silence_and_nothing_have_no_regions() -> None:
    assert speech_regions(np.zeros(8000, dtype=np.int16)) == []
    assert speech_regions(np.zeros(0, dtype=np.int16)) == []


def test_speech_up_to_the_last_sample_is_a_region(sentences: list[Samples]) -> None:
    (region,) = speech_regions(sentences[0])
    assert region.end_seconds == pytest.approx(sentences[0].size / 8000, abs=0.04)


def test_a_frame_costs_microseconds(sentences: list[Samples]) -> None:
    track, _ = track_of(sentences)
    detector = TurnDetector(0.5)
    frames = [frame for _, frame in frames_of(track)]
    started = time.perf_counter()
    for frame in frames:
        detector.push(frame)
    # About 4 us on an idle machine; the bound only catches a change of kind.
    assert (time.perf_counter() - started) / len(frames) < 200e-6
