"""Whether recordings are fit to be evidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from orchestrator_assets.audio.evidence import audio_evidence
from orchestrator_assets.audio.findings import FindingKind, Severity, Side
from orchestrator_assets.audio.samples import Samples, normalize, resample
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
    evidence = audio_evidence(caller, agent)
    faults = tuple(finding.message for finding in evidence.faults)
    return faults, tuple(finding.message for finding in evidence.doubts)


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

    assert doubt.startswith("the agent's track is clipped at 0.00 to 1.00 s")


@pytest.fixture
def speech(sentences: list[Samples]) -> Samples:
    """Half a minute of one side: three turns."""
    silence = np.zeros(7 * RATE_HZ, np.int16)
    return np.concatenate([silence, *(part for each in sentences for part in (each, silence))])


def test_every_finding_has_kind_side_severity_and_place(
    caller: Path, agent: Path, speech: Samples, sentences: list[Samples]
) -> None:
    quiet_from = 7 * RATE_HZ
    quiet_to = quiet_from + sentences[0].size
    spoilt = speech.copy()
    spoilt[quiet_from:quiet_to] = normalize(sentences[0], -52.0)
    write(caller, spoilt)
    write(agent, np.roll(speech, 4 * RATE_HZ))

    evidence = audio_evidence(caller, agent)

    (finding,) = evidence.findings
    assert finding.kind is FindingKind.TOO_QUIET
    assert finding.side is Side.CALLER
    assert finding.severity is Severity.DOUBT
    assert finding.start_seconds == pytest.approx(7, abs=0.1)
    assert finding.end_seconds == pytest.approx(quiet_to / RATE_HZ, abs=0.1)
    assert finding.measured["speech_dbfs"] == pytest.approx(-52, abs=3)
    assert finding.message.startswith("the caller is too quiet at 7.0")
    assert evidence.doubts == (finding,)
    assert evidence.faults == ()
    assert not evidence.sound


def test_levels_of_both_sides_are_numbers(caller: Path, agent: Path, speech: Samples) -> None:
    write(caller, speech)
    write(agent, normalize(np.roll(speech, 4 * RATE_HZ), -40.0))

    numbers = audio_evidence(caller, agent).numbers

    assert numbers["caller_speech_dbfs"] == pytest.approx(-21, abs=1.5)
    assert numbers["agent_speech_dbfs"] < numbers["caller_speech_dbfs"] - 8
    assert numbers["caller_duration_seconds"] == pytest.approx(speech.size / RATE_HZ)
    assert 0.7 < numbers["agent_silence_ratio"] < 0.9
    # Digital silence has no level that a number could tell.
    assert "caller_noise_floor_dbfs" not in numbers
    assert "caller_drift_ms" not in numbers


def test_a_clean_track_tells_of_what_the_line_lost(
    caller: Path, agent: Path, tmp_path: Path, speech: Samples
) -> None:
    clean = tmp_path / "clean.wav"
    write(clean, resample(speech, RATE_HZ, 16_000), rate_hz=16_000)
    write(agent, np.roll(speech, 4 * RATE_HZ))
    write(caller, speech)
    assert audio_evidence(caller, agent, clean_path=clean).sound
    lost = speech.copy()
    lost[7 * RATE_HZ : 8 * RATE_HZ] = 0
    write(caller, lost)

    (gap,) = audio_evidence(caller, agent, clean_path=clean).findings

    assert gap.kind is FindingKind.GAP
    assert gap.start_seconds == pytest.approx(7, abs=0.1)
    assert gap.end_seconds == pytest.approx(8, abs=0.02)


@pytest.mark.parametrize("late", [0.02, 0.2])
def test_a_clean_track_tells_of_drift(
    caller: Path, agent: Path, speech: Samples, sentences: list[Samples], late: float
) -> None:
    clean = caller.with_name("clean.wav")
    write(clean, resample(speech, RATE_HZ, 16_000), rate_hz=16_000)
    write(agent, np.roll(speech, 4 * RATE_HZ))
    last_turn = speech.size - 7 * RATE_HZ - sentences[2].size
    doubled = np.zeros(round(late * RATE_HZ), np.int16)
    before = last_turn - RATE_HZ
    write(caller, np.concatenate([speech[:before], doubled, speech[before : -doubled.size]]))

    evidence = audio_evidence(caller, agent, clean_path=clean)

    (drift,) = evidence.findings
    assert drift.kind is FindingKind.DRIFT
    # Beyond a tenth of a second no latency means anything.
    assert drift.severity is (Severity.FAULT if late > 0.1 else Severity.DOUBT)
    assert evidence.numbers["caller_offset_ms"] == pytest.approx(0, abs=1)
    assert evidence.numbers["caller_drift_ms"] == pytest.approx(1000 * late, abs=1)


def test_a_clean_track_that_is_missing_or_broken_is_no_finding(
    caller: Path, agent: Path, tmp_path: Path, speech: Samples
) -> None:
    for path in (caller, agent):
        write(path, speech)
    (tmp_path / "broken.wav").write_text("RIFF", encoding="utf-8")

    for name in ("missing.wav", "broken.wav"):
        evidence = audio_evidence(caller, agent, clean_path=tmp_path / name)
        assert evidence.sound
        assert evidence.drift is None


def test_a_clean_track_of_another_call_is_a_doubt(
    caller: Path, agent: Path, tmp_path: Path, speech: Samples
) -> None:
    clean = tmp_path / "clean.wav"
    noise = np.random.default_rng(1).normal(0, 1_000, speech.size)
    write(clean, noise.astype(np.int16))
    for path in (caller, agent):
        write(path, speech)

    (finding,) = audio_evidence(caller, agent, clean_path=clean).findings

    assert finding.kind is FindingKind.UNALIGNED


def test_an_offset_and_noise_are_doubts(caller: Path, agent: Path, speech: Samples) -> None:
    write(caller, speech + np.int16(800))
    noise = normalize(np.random.default_rng(2).normal(0, 900, speech.size).astype(np.int16), -33.0)
    write(agent, np.roll(speech, 4 * RATE_HZ) + noise)

    findings = audio_evidence(caller, agent).findings

    assert [(each.kind, each.side) for each in findings] == [
        (FindingKind.DC_OFFSET, Side.CALLER),
        (FindingKind.NOISY, Side.AGENT),
    ]


def test_a_track_full_of_dropouts_is_told_in_a_few_lines(
    caller: Path, agent: Path, speech: Samples
) -> None:
    holes = speech.copy()
    for start in range(0, holes.size, 1_600):
        holes[start : start + 240] = 0
    write(caller, holes)
    write(agent, np.zeros_like(speech))

    gaps = [each for each in audio_evidence(caller, agent).findings if each.kind == "gap"]

    assert len(gaps) == 21
    assert "more dropouts" in gaps[-1].message


def test_no_file_makes_it_fail(caller: Path, agent: Path, speech: Samples) -> None:
    floats = (speech / 32_768).astype(np.float32)
    floats[::1_000] = np.nan
    loudest = int(np.argmax(np.abs(speech)))
    floats[loudest] = np.inf
    stereo = np.stack((speech, speech), axis=1)
    write(agent, speech)

    def of(samples: object, rate_hz: int = RATE_HZ, subtype: str = "PCM_16") -> list[FindingKind]:
        soundfile.write(caller, samples, rate_hz, subtype=subtype)
        return [each.kind for each in audio_evidence(caller, agent).findings]

    assert FindingKind.SILENT in of(np.zeros(0, np.int16))
    assert FindingKind.SILENT in of(np.full(1, 30_000, np.int16))
    assert of(stereo) == []
    assert of(speech, subtype="PCM_24") == []
    assert of(speech, subtype="PCM_U8") == []
    assert of(floats, subtype="FLOAT") == []
    assert of(floats, subtype="DOUBLE") == []
    assert of(resample(speech, RATE_HZ, 44_100), 44_100) == [FindingKind.UNEQUAL_RATE]
    assert of(speech, 1) == [FindingKind.UNREADABLE]
    for content in (b"", b"RIFF", b"RIFF\0\0\0\0WAVE", bytes(100)):
        caller.write_bytes(content)
        assert [each.kind for each in audio_evidence(caller, agent).findings] == [
            FindingKind.UNREADABLE
        ]
    caller.unlink()
    caller.mkdir()
    assert audio_evidence(caller, agent).findings[0].kind is FindingKind.UNREADABLE
