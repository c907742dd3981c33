"""The evidence of a call's recordings as Dagster shows it, for the audio asset and its check."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import dagster as dg

from orchestrator_assets.audio.findings import Finding
from orchestrator_assets.call.recording_evidence import RecordingEvidence, recording_evidence

_DECIMALS = 3


def evidence_of(directory: Path) -> RecordingEvidence:
    """Return the evidence in a task's directory; the asset and its check share one measurement."""
    files = sorted(directory.iterdir()) if directory.is_dir() else []
    state = tuple((file.name, file.stat().st_mtime_ns) for file in files if file.is_file())
    return _evidence(directory, state)


@lru_cache(maxsize=2)
def _evidence(directory: Path, _state: tuple[tuple[str, int], ...]) -> RecordingEvidence:
    return recording_evidence(directory)


def evidence_numbers(evidence: RecordingEvidence) -> dict[str, dg.MetadataValue]:
    """Return what was measured, as numbers that Dagster plots over time."""
    return {
        name: dg.MetadataValue.float(round(value, _DECIMALS))
        for name, value in evidence.numbers.items()
    }


def findings_table(findings: tuple[Finding, ...]) -> dg.TableMetadataValue:
    """Return the findings as a table, with the seconds of the call they are at."""
    return dg.MetadataValue.table(
        records=[
            dg.TableRecord(
                {
                    "severity": each.severity.value,
                    "kind": each.kind.value,
                    "side": each.side.value,
                    "start_seconds": each.start_seconds,
                    "end_seconds": each.end_seconds,
                    "finding": each.message,
                }
            )
            for each in findings
        ],
        schema=dg.TableSchema(
            columns=[
                dg.TableColumn("severity", "string"),
                dg.TableColumn("kind", "string"),
                dg.TableColumn("side", "string"),
                dg.TableColumn("start_seconds", "float"),
                dg.TableColumn("end_seconds", "float"),
                dg.TableColumn("finding", "string"),
            ]
        ),
    )
