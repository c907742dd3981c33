"""Metadata of a conversation's audio: a picture of both tracks, their length and level."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from orchestrator_assets.audio.samples import rms_dbfs
from orchestrator_assets.audio.wav import read_wav
from orchestrator_assets.audio.waveform import WaveformSpan, data_uri, waveform_svg
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    MIXED_AUDIO_FILE,
)
from orchestrator_assets.dagster_assets.transcript import read_transcript


def audio_metadata(directory: Path) -> dict[str, dg.MetadataValue]:
    """Return what can be shown of the audio in a task's directory.

    Levels are root mean square in dBFS, over the whole track.
    """
    try:
        caller, sample_rate_hz = read_wav(directory / CALLER_AUDIO_FILE)
        agent, agent_rate_hz = read_wav(directory / AGENT_AUDIO_FILE)
    except (OSError, ValueError, RuntimeError) as error:
        return {"audio": dg.MetadataValue.text(f"can't be read: {error}")}
    metadata: dict[str, dg.MetadataValue] = {
        "mixed": dg.MetadataValue.path(str(directory / MIXED_AUDIO_FILE)),
        "duration_seconds": dg.MetadataValue.float(len(caller) / sample_rate_hz),
        "sample_rate_hz": dg.MetadataValue.int(sample_rate_hz),
    }
    for name, samples in (("caller_dbfs", caller), ("agent_dbfs", agent)):
        level = float(rms_dbfs(samples))
        # Digital silence has no level that a JSON number can express.
        if level > float("-inf"):
            metadata[name] = dg.MetadataValue.float(level)
    if sample_rate_hz == agent_rate_hz:
        svg = waveform_svg(caller, agent, sample_rate_hz, spans=_turns(directory))
        picture = data_uri(svg)
        metadata["waveform"] = dg.MetadataValue.md(f"![caller above, agent below]({picture})")
    return metadata


def _turns(directory: Path) -> list[WaveformSpan]:
    try:
        rows = read_transcript(directory)
    except (OSError, ValueError):
        return []  # The conversation's own metadata says that it can't be read.
    return [
        WaveformSpan(
            "caller" if row.role == "user" else "agent", row.start_seconds, row.end_seconds
        )
        for row in rows
    ]
