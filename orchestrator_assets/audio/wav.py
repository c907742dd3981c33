"""PCM16 WAV files, written while the call goes on and readable after a kill.

The length in a WAV header is only known at the end. A process that was killed leaves a header that
promises no data; how much there is follows from the size of the file.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import soundfile

from orchestrator_assets.audio.samples import Samples, to_pcm16

_CHUNK_HEADER = struct.Struct("<4sI")
_PCM16_FORMAT = struct.Struct("<HHIIHH")
_RIFF_HEADER_BYTES = 12
_FORMAT_PCM = 1
_FORMAT_FLOAT = 3
_FORMAT_EXTENSIBLE = 0xFFFE


class WavWriter:
    """Writes a mono PCM16 WAV file as samples arrive. Every append reaches the operating system."""

    def __init__(self, path: Path, sample_rate_hz: int) -> None:
        """Create `path`, or empty it. Raises OSError where it cannot be written."""
        # soundfile turns a missing directory into an opaque error; open() names it.
        self._file = path.open("wb", buffering=0)
        self._sound = soundfile.SoundFile(
            self._file, "w", samplerate=sample_rate_hz, channels=1, subtype="PCM_16", format="WAV"
        )

    def append(self, samples: Samples) -> None:
        """Add mono PCM16 `samples` to the end."""
        self._sound.write(samples)

    def close(self) -> None:
        """Complete the header. Closing twice is harmless."""
        if not self._file.closed:
            self._sound.close()
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_wav(path: Path) -> tuple[Samples, int]:
    """Return the samples as mono PCM16, and the sample rate in Hz. The file stays as it is.

    Several channels are averaged. Of floating-point samples, what is louder than full scale
    saturates, and what is no number is silent. A header that promises less data than the file holds
    is taken for an unfinished one, and all data is read. Raises FileNotFoundError, or ValueError
    for a file that is not a WAV file.
    """
    layout = _layout(path)
    if layout.is_unfinished:
        return _read_unfinished(path, layout), layout.sample_rate_hz
    # Read as integers, floating-point samples of full scale 1.0 would become 0 and 1.
    holds_floats = layout.format_code == _FORMAT_FLOAT or (
        layout.format_code == _FORMAT_EXTENSIBLE and layout.bits >= 32
    )
    kind = "float64" if holds_floats else "int16"
    try:
        samples, sample_rate_hz = soundfile.read(path, dtype=kind, always_2d=True)
    except soundfile.LibsndfileError as error:
        raise ValueError(f"{path}: cannot be read as audio: {error}") from error
    if holds_floats:
        samples = to_pcm16(np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0))
    return _as_mono(samples), int(sample_rate_hz)


def repair_wav(path: Path) -> bool:
    """Complete the header of an unfinished file in place; return whether that was necessary.

    Raises FileNotFoundError, or ValueError for a file that is not a WAV file.
    """
    layout = _layout(path)
    if not layout.is_unfinished:
        return False
    held = layout.held_bytes - layout.held_bytes % layout.block_bytes
    with path.open("r+b") as file:
        file.truncate(layout.data_offset + held)
        file.seek(4)
        file.write(struct.pack("<I", layout.data_offset + held - 8))
        # Last, since the file counts as unfinished until this is right.
        file.seek(layout.data_offset - 4)
        file.write(struct.pack("<I", held))
        file.flush()
        os.fsync(file.fileno())
    return True


def header_fault(path: Path) -> str | None:
    """Return how the header disagrees with the size of the file, None if it does not.

    Raises FileNotFoundError, or ValueError for a file that is not a WAV file.
    """
    layout = _layout(path)
    if layout.is_unfinished or layout.promised_bytes > layout.held_bytes:
        return (
            f"its header promises {layout.promised_bytes} bytes of audio, "
            f"the file holds {layout.held_bytes}"
        )
    return None


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the data of a WAV file is, what its header promises and what the file holds."""

    format_code: int
    channels: int
    sample_rate_hz: int
    block_bytes: int
    bits: int
    data_offset: int
    promised_bytes: int
    held_bytes: int
    is_unfinished: bool


def _layout(path: Path) -> _Layout:
    size = path.stat().st_size
    with path.open("rb") as file:
        riff = file.read(_RIFF_HEADER_BYTES)
        if riff[:4] != b"RIFF" or riff[8:12] != b"WAVE":
            raise ValueError(f"{path}: is not a WAV file")
        form: tuple[int, ...] | None = None
        while len(header := file.read(_CHUNK_HEADER.size)) == _CHUNK_HEADER.size:
            name, length = _CHUNK_HEADER.unpack(header)
            if name == b"data" and form is not None:
                offset = file.tell()
                file.seek(min(offset + length + length % 2, size))
                beyond = file.read(_CHUNK_HEADER.size)
                unfinished = offset + length < size and not _is_chunk(beyond)
                code, channels, rate, _, block, bits = form
                held = size - offset
                return _Layout(code, channels, rate, block, bits, offset, length, held, unfinished)
            body = file.read(length + length % 2)
            if name == b"fmt " and len(body) >= _PCM16_FORMAT.size:
                form = _PCM16_FORMAT.unpack_from(body)
    raise ValueError(f"{path}: the WAV file has no data chunk; it was cut off before the audio")


def _is_chunk(header: bytes) -> bool:
    """Tell whether a further chunk begins here, so that the data really ended before it."""
    return len(header) == _CHUNK_HEADER.size and header[:4].isalnum() and header[:4].isascii()


def _read_unfinished(path: Path, layout: _Layout) -> Samples:
    if layout.bits != 16 or layout.format_code not in (_FORMAT_PCM, _FORMAT_EXTENSIBLE):
        raise ValueError(f"{path}: is unfinished, and only 16 bit PCM can be recovered")
    count = layout.held_bytes // layout.block_bytes * layout.channels
    samples = np.fromfile(path, dtype="<i2", count=count, offset=layout.data_offset)
    return _as_mono(samples.reshape(-1, layout.channels))


def _as_mono(samples: Samples) -> Samples:
    if samples.shape[1] == 1:
        return np.ascontiguousarray(samples[:, 0])
    average: Samples = np.rint(samples.mean(axis=1)).astype(np.int16)
    return average
