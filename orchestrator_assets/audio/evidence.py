"""Whether the recordings of a call are fit to be evidence.

Everything else that is said of a call is measured in its two tracks. They must be there, whole, on
one time line, and carry sound that people can understand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator_assets.audio.clipping import clipped_samples
from orchestrator_assets.audio.drift import Drift, drift_between
from orchestrator_assets.audio.findings import Finding, FindingKind, Severity, Side
from orchestrator_assets.audio.gaps import Witness
from orchestrator_assets.audio.track import Track, measured_track
from orchestrator_assets.audio.track_findings import (
    fault,
    findings_in_time,
    findings_of_drift,
    findings_of_levels,
    unequal_tracks,
)
from orchestrator_assets.audio.wav import header_fault, read_wav

__all__ = ["AudioEvidence", "Track", "audio_evidence", "clipped_samples"]

_RATES_HZ = range(4_000, 400_000)


@dataclass(frozen=True, slots=True)
class AudioEvidence:
    """What was found in the recordings, and what was measured.

    `drift` is by how much the caller's line track is behind its clean one; None where there is no
    clean track, or too little speech.
    """

    caller: Track | None
    agent: Track | None
    drift: Drift | None
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What makes the recordings no evidence."""
        return tuple(each for each in self.findings if each.severity is Severity.FAULT)

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """What people should listen to."""
        return tuple(each for each in self.findings if each.severity is Severity.DOUBT)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the recordings."""
        return not self.findings

    @property
    def numbers(self) -> dict[str, float]:
        """What was measured, by name; what could not be measured is left out."""
        measured: dict[str, float | None] = {}
        for side, track in ((Side.CALLER, self.caller), (Side.AGENT, self.agent)):
            if track is not None:
                measured |= track.numbers(side)
        if self.drift is not None:
            measured |= {
                "caller_offset_ms": self.drift.offset_ms,
                "caller_drift_ms": self.drift.drift_ms,
                "caller_drift_ms_per_minute": self.drift.drift_ms_per_minute,
            }
        return {name: float(value) for name, value in measured.items() if value is not None}


def audio_evidence(
    caller_path: Path, agent_path: Path, *, clean_path: Path | None = None
) -> AudioEvidence:
    """Return what the caller's and the agent's recording are worth. Raises nothing.

    `clean_path` is the caller's sound before the line, if there is such a track. It is only read to
    be compared with the other; that it is missing is no finding.
    """
    findings: list[Finding] = []
    caller = _track(Side.CALLER, caller_path, findings)
    agent = _track(Side.AGENT, agent_path, findings)
    clean = _clean_track(clean_path)
    drift = _drift(caller, clean)
    of_drift = list(findings_of_drift(drift, caller))
    if caller is not None and agent is not None:
        findings += unequal_tracks(caller, agent)
    if caller is not None:
        # Where the tracks are apart, one is silent where the other sounds for no other reason.
        witness = clean if drift is not None and not of_drift else None
        findings += findings_of_levels(Side.CALLER, caller)
        findings += findings_in_time(Side.CALLER, caller, agent, witness)
    if agent is not None:
        findings += findings_of_levels(Side.AGENT, agent)
        findings += findings_in_time(Side.AGENT, agent, caller, None)
    return AudioEvidence(caller, agent, drift, (*findings, *of_drift))


def _track(side: Side, path: Path, findings: list[Finding]) -> Track | None:
    try:
        damage = header_fault(path)
        samples, sample_rate_hz = read_wav(path)
        if sample_rate_hz not in _RATES_HZ:
            raise ValueError(f"a sample rate of {sample_rate_hz} Hz is none for speech")
    except FileNotFoundError:
        findings.append(fault(FindingKind.MISSING, side, f"the {side}'s track is missing"))
        return None
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        message = f"the {side}'s track can't be read: {error}"
        findings.append(fault(FindingKind.UNREADABLE, side, message))
        return None
    if damage is not None:
        message = f"the {side}'s track is damaged: {damage}"
        findings.append(fault(FindingKind.DAMAGED_HEADER, side, message))
    return measured_track(samples, sample_rate_hz)


def _drift(caller: Track | None, clean: Witness | None) -> Drift | None:
    if caller is None or clean is None or caller.is_silent:
        return None
    return drift_between(
        clean.samples,
        clean.sample_rate_hz,
        caller.samples,
        caller.sample_rate_hz,
        caller.voiced,
    )


def _clean_track(path: Path | None) -> Witness | None:
    if path is None:
        return None
    try:
        samples, sample_rate_hz = read_wav(path)
    except (OSError, ValueError, RuntimeError, MemoryError):
        return None
    return Witness(samples, sample_rate_hz) if sample_rate_hz in _RATES_HZ else None
