"""Metadata of a conversation's audio: a picture of both tracks, and what is measured in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from orchestrator_assets.audio.findings import Finding, Side
from orchestrator_assets.audio.track import Track
from orchestrator_assets.audio.waveform import WaveformMark, WaveformSpan, data_uri, waveform_svg
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    MIXED_AUDIO_FILE,
)
from orchestrator_assets.dagster_assets.file_links import FileLinks
from orchestrator_assets.dagster_assets.shown_evidence import evidence_numbers, evidence_of
from orchestrator_assets.dagster_assets.transcript import read_transcript


def audio_metadata(directory: Path, links: FileLinks) -> dict[str, dg.MetadataValue]:
    """Return what can be shown of the audio in a task's directory.

    The numbers are those that its check judges by. Levels are root mean square in dBFS, over the
    speech alone.
    """
    evidence = evidence_of(directory)
    caller, agent = evidence.audio.caller, evidence.audio.agent
    if caller is None or agent is None:
        unread = "; ".join(finding.message for finding in evidence.audio.faults)
        return {"audio": dg.MetadataValue.text(f"can't be read: {unread}")}
    metadata: dict[str, dg.MetadataValue] = {}
    if caller.sample_rate_hz == agent.sample_rate_hz:
        picture = data_uri(_picture(directory, caller, agent, evidence.findings))
        metadata["waveform"] = dg.MetadataValue.md(f"![caller above, agent below]({picture})")
    metadata["duration_seconds"] = dg.MetadataValue.float(round(caller.duration_seconds, 1))
    metadata["findings"] = dg.MetadataValue.int(len(evidence.findings))
    metadata |= evidence_numbers(evidence)
    metadata["sample_rate_hz"] = dg.MetadataValue.int(caller.sample_rate_hz)
    for name, file in (
        ("mixed", MIXED_AUDIO_FILE),
        ("caller_track", CALLER_AUDIO_FILE),
        ("agent_track", AGENT_AUDIO_FILE),
    ):
        metadata[name] = links.to(directory / file)
    return metadata


def _picture(directory: Path, caller: Track, agent: Track, findings: tuple[Finding, ...]) -> str:
    return waveform_svg(
        caller.samples,
        agent.samples,
        caller.sample_rate_hz,
        spans=_turns(directory),
        marks=_marks(findings),
    )


def _marks(findings: tuple[Finding, ...]) -> Iterator[WaveformMark]:
    for each in findings:
        if each.start_seconds is not None and each.end_seconds is not None:
            yield WaveformMark(
                "agent" if each.side is Side.AGENT else "caller",
                each.start_seconds,
                each.end_seconds,
                each.message,
            )


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
