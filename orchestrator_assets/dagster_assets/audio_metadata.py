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
from orchestrator_assets.dagster_assets.file_links import FileLinks
from orchestrator_assets.dagster_assets.transcript import read_transcript


def audio_metadata(directory: Path, links: FileLinks) -> dict[str, dg.MetadataValue]:
    """Return what can be shown of the audio in a task's directory.

    Levels are root mean square in dBFS, over the whole track.
    """
    try:
        caller, sample_rate_hz = read_wav(directory / CALLER_AUDIO_FILE)
        agent, agent_rate_hz = read_wav(directory / AGENT_AUDIO_FILE)
    except (OSError, ValueError, RuntimeError) as error:
        return {"audio": dg.MetadataValue.text(f"can't be read: {error}")}
    metadata: dict[str, dg.MetadataValue] = {}
    if sample_rate_hz == agent_rate_hz:
        picture = data_uri(waveform_svg(caller, agent, sample_rate_hz, spans=_turns(directory)))
        metadata["waveform"] = dg.MetadataValue.md(f"![caller above, agent below]({picture})")
    metadata["duration_seconds"] = dg.MetadataValue.float(round(len(caller) / sample_rate_hz, 1))
    for name, samples in (("caller_dbfs", caller), ("agent_dbfs", agent)):
        level = float(rms_dbfs(samples))
        # Digital silence has no level that a JSON number can express.
        if level > float("-inf"):
            metadata[name] = dg.MetadataValue.float(round(level, 1))
    metadata["sample_rate_hz"] = dg.MetadataValue.int(sample_rate_hz)
    for name, file in (
        ("mixed", MIXED_AUDIO_FILE),
        ("caller_track", CALLER_AUDIO_FILE),
        ("agent_track", AGENT_AUDIO_FILE),
    ):
        metadata[name] = links.to(directory / file)
    return metadata


def _turns(directory: Path) -> list[WaveformSpan]:
    try:
        rows = read_transcript(directory)
    except (OSError, ValueError):
        return []  # The conversation's own metadata says that it can't be read.
    return [
        WaveformSpan(
            "caller" if row.role == "user" else "agent",
            row.start_seconds,
            row.end_seconds,
            interrupted=row.interrupted,
        )
        for row in rows
    ]
