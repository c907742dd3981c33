"""Whether recordings are fit to be evidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator_assets.audio.evidence import AudioEvidence, audio_evidence, clipped_samples
from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.audio.wav import WavWriter

RATE_HZ = 8_000


def tone(seconds: float = 1.0, peak: int = 8_000) -> Samples:
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (peak * np.sin(2 * np.pi * 440 * times)).astype(np.int16)


@pytest.fixture
def caller(tmp_path: Path) -> Path:
    return tmp_path / "caller.wav"


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return tmp_path / "agent.wav"


def write(path: Path, samples: Samples, rate_hz: int = RATE_HZ) -> None:
    with WavWriter(path, rate_hz) as writer:
        writer.append(samples)


def found(caller: Path, agent: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    evidence: AudioEvidence = audio_evidence(caller, agent)
    return evidence.faults, evidence.doubts


def test_two_whole_tracks_with_speech_are_sound(caller: Path, agent: Path) -> None:
    write(caller, tone())
    write(agent, tone())

    evidence = audio_evidence(caller, agent)

    assert evidence.sound
    assert evidence.caller is not None
    assert evidence.caller.duration_seconds == 1.0


def test_missing_tracks_are_all_named(caller: Path, agent: Path) -> None:
    assert found(caller, agent) == (
        ("the caller's track is missing", "the agent's track is missing"),
        (),
    )


def test_a_file_that_is_no_audio_is_a_fault(caller: Path, agent: Path) -> None:
    write(caller, tone())
    agent.write_text("hello")

    (fault,), _ = found(caller, agent)

    assert fault.startswith("the agent's track can't be read")


def test_tracks_of_different_length_are_a_fault(caller: Path, agent: Path) -> None:
    write(caller, tone(1.0))
    write(agent, tone(1.5))

    assert found(caller, agent)[0] == (
        "the tracks are not equally long (1.00 s the caller's, 1.50 s the agent's)",
    )


def test_a_frame_more_or_less_is_no_fault(caller: Path, agent: Path) -> None:
    write(caller, tone(1.0))
    write(agent, tone(1.02))

    assert audio_evidence(caller, agent).sound


def test_different_sample_rates_are_a_fault(caller: Path, agent: Path) -> None:
    write(caller, tone())
    write(agent, tone(), rate_hz=16_000)

    assert "different sample rates" in found(caller, agent)[0][0]


@pytest.mark.parametrize("kept_bytes", [44 + 4_000, 44 + 12_000])
def test_a_file_that_was_cut_off_is_a_fault(caller: Path, agent: Path, kept_bytes: int) -> None:
    for path in (caller, agent):
        write(path, tone())
    whole = caller.read_bytes()
    caller.write_bytes(whole[:kept_bytes])

    faults, _ = found(caller, agent)

    assert f"the file holds {kept_bytes - 44}" in faults[0]


def test_a_header_of_a_killed_writer_is_a_fault(caller: Path, agent: Path) -> None:
    for path in (caller, agent):
        write(path, tone())
    content = bytearray(caller.read_bytes())
    content[40:44] = bytes(4)
    caller.write_bytes(content)

    faults, _ = found(caller, agent)

    (fault,) = faults
    assert fault == (
        "the caller's track is damaged: its header promises 0 bytes of audio, the file holds 16000"
    )


def test_a_silent_caller_is_a_fault_and_a_silent_agent_a_doubt(caller: Path, agent: Path) -> None:
    for path in (caller, agent):
        write(path, np.full(RATE_HZ, 8, np.int16))

    assert found(caller, agent) == (
        ("the caller's track is silent",),
        ("the agent's track is silent",),
    )


def test_an_empty_track_is_silent(caller: Path, agent: Path) -> None:
    for path in (caller, agent):
        write(path, np.zeros(0, np.int16))

    assert found(caller, agent)[0] == ("the caller's track is silent",)


def test_clipped_audio_is_a_doubt(caller: Path, agent: Path) -> None:
    write(caller, tone())
    write(agent, np.clip(tone(peak=32_000).astype(np.int32) * 3, -32_768, 32_767).astype(np.int16))

    (doubt,) = found(caller, agent)[1]

    assert doubt.startswith("the agent's track is clipped")


def test_single_peaks_at_full_scale_are_not_clipping() -> None:
    samples = np.zeros(100, np.int16)
    samples[[10, 20, 21]] = 32_767
    assert clipped_samples(samples) == 0
    samples[40:44] = -32_768
    assert clipped_samples(samples) == 4
