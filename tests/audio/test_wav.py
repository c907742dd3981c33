from __future__ import annotations

import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.audio.wav import WavWriter, read_wav, repair_wav

SOUND: Samples = np.arange(-4000, 4000).astype(np.int16)


def written(path: Path, samples: Samples = SOUND, sample_rate_hz: int = 8000) -> Path:
    with WavWriter(path, sample_rate_hz) as writer:
        for start in range(0, samples.size, 160):
            writer.append(samples[start : start + 160])
    return path


def promise(path: Path, data_bytes: int) -> None:
    """Make the header promise `data_bytes` of data."""
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, content.index(b"data") + 4, data_bytes)
    path.write_bytes(content)


def test_what_is_appended_is_read_back_exactly(tmp_path: Path) -> None:
    path = written(tmp_path / "call.wav")
    samples, sample_rate_hz = read_wav(path)
    assert sample_rate_hz == 8000
    assert samples.dtype == np.int16
    assert np.array_equal(samples, SOUND)
    information = soundfile.info(path)
    assert (information.format, information.subtype, information.channels) == ("WAV", "PCM_16", 1)


def test_a_file_without_samples_is_a_valid_empty_file(tmp_path: Path) -> None:
    samples, sample_rate_hz = read_wav(written(tmp_path / "call.wav", SOUND[:0]))
    assert (samples.size, sample_rate_hz) == (0, 8000)


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    writer = WavWriter(tmp_path / "call.wav", 8000)
    writer.append(SOUND)
    writer.close()
    writer.close()
    assert np.array_equal(read_wav(tmp_path / "call.wav")[0], SOUND)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        WavWriter(tmp_path / "nowhere" / "call.wav", 8000)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a process leaves that was killed after it had appended SOUND."""
    path = tmp_path_factory.mktemp("killed") / "call.wav"
    program = (
        "import os, signal, sys, pathlib, numpy\n"
        "from orchestrator_assets.audio.wav import WavWriter\n"
        "writer = WavWriter(pathlib.Path(sys.argv[1]), 8000)\n"
        "writer.append(numpy.arange(-4000, 4000).astype(numpy.int16))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    return path.read_bytes()


def test_all_audio_of_a_killed_process_is_read(tmp_path: Path, killed: bytes) -> None:
    path = tmp_path / "call.wav"
    path.write_bytes(killed)
    samples, sample_rate_hz = read_wav(path)
    assert sample_rate_hz == 8000
    assert np.array_equal(samples, SOUND)
    assert path.read_bytes() == killed


def test_a_repaired_file_is_read_in_full_by_other_programs(tmp_path: Path, killed: bytes) -> None:
    path = tmp_path / "call.wav"
    path.write_bytes(killed)
    assert repair_wav(path)
    samples, _ = soundfile.read(path, dtype="int16")
    assert np.array_equal(samples, SOUND)
    assert not repair_wav(path)


@pytest.mark.parametrize("promised", [0, 160, 15998])
def test_a_header_that_promises_too_little_is_not_believed(tmp_path: Path, promised: int) -> None:
    path = written(tmp_path / "call.wav")
    promise(path, promised)
    assert np.array_equal(read_wav(path)[0], SOUND)
    assert repair_wav(path)
    assert np.array_equal(read_wav(path)[0], SOUND)


@pytest.mark.parametrize("promised", [20000, 0xFFFFFFFF])
def test_a_header_that_promises_too_much_gives_what_is_there(tmp_path: Path, promised: int) -> None:
    path = written(tmp_path / "call.wav")
    promise(path, promised)
    assert np.array_equal(read_wav(path)[0], SOUND)


def test_half_a_sample_at_the_end_of_a_killed_file_is_dropped(tmp_path: Path) -> None:
    path = written(tmp_path / "call.wav")
    promise(path, 0)
    path.write_bytes(path.read_bytes()[:-1])
    assert np.array_equal(read_wav(path)[0], SOUND[:-1])
    assert repair_wav(path)
    assert np.array_equal(read_wav(path)[0], SOUND[:-1])


def test_a_chunk_after_the_data_is_not_taken_for_audio(tmp_path: Path) -> None:
    path = written(tmp_path / "call.wav")
    path.write_bytes(path.read_bytes() + struct.pack("<4sI", b"LIST", 4) + b"INFO")
    assert not repair_wav(path)
    assert np.array_equal(read_wav(path)[0], SOUND)


def test_two_channels_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "stereo.wav"
    soundfile.write(path, np.column_stack([SOUND, SOUND * 3]), 16000, subtype="PCM_16")
    samples, sample_rate_hz = read_wav(path)
    assert sample_rate_hz == 16000
    assert np.array_equal(samples, SOUND * 2)


def test_what_is_not_a_wav_file_is_refused_by_name(tmp_path: Path) -> None:
    text = tmp_path / "notes.wav"
    text.write_text("not audio at all")
    with pytest.raises(ValueError, match=r"notes\.wav: is not a WAV file"):
        read_wav(text)
    cut = tmp_path / "cut.wav"
    cut.write_bytes(written(tmp_path / "call.wav").read_bytes()[:30])
    with pytest.raises(ValueError, match=r"cut\.wav: the WAV file has no data chunk"):
        read_wav(cut)
    with pytest.raises(FileNotFoundError):
        read_wav(tmp_path / "absent.wav")


@pytest.mark.parametrize("subtype", ["FLOAT", "DOUBLE"])
def test_floating_point_samples_are_scaled_and_what_is_no_number_is_silent(
    tmp_path: Path, subtype: str
) -> None:
    path = tmp_path / "float.wav"
    soundfile.write(path, np.array([0.5, -0.25, np.nan, np.inf, -2.0]), 8000, subtype=subtype)
    samples, _ = read_wav(path)
    assert samples.tolist() == [16384, -8192, 0, 32767, -32768]


def test_24_bit_samples_keep_their_upper_16(tmp_path: Path) -> None:
    path = tmp_path / "deep.wav"
    soundfile.write(path, SOUND, 44_100, subtype="PCM_24")
    samples, sample_rate_hz = read_wav(path)
    assert sample_rate_hz == 44_100
    assert np.array_equal(samples, SOUND)
