"""Whether the recordings of a call are fit to be evidence.

Everything else that is said of a call is measured in its two tracks. They must be there, whole, on
one time line, and carry sound; what was recorded too loud is distorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestrator_assets.audio.samples import FULL_SCALE, Samples
from orchestrator_assets.audio.wav import header_fault, read_wav

_LENGTH_TOLERANCE_SECONDS = 0.02
"""A frame: where a process was killed between two appends, one track has one more."""
_SILENCE_PEAK = 10 ** (-60 / 20)
"""Of full scale; speech on the line peaks above -40 dBFS, mu-law idle noise below -70."""
_CLIPPED_LEVEL = 32_100
"""Mu-law's loudest sample is 32124, PCM16's 32767."""
_CLIPPED_RUN = 3
_CLIPPED_SHARE = 0.001
"""A peak may touch full scale; above a thousandth of the samples it is audible."""


@dataclass(frozen=True, slots=True)
class Track:
    """One side of the call. `clipped_samples` are those in runs at full scale, of 3 or more."""

    samples: Samples
    sample_rate_hz: int
    clipped_samples: int

    @property
    def duration_seconds(self) -> float:
        """How long the track is."""
        return self.samples.size / self.sample_rate_hz

    @property
    def is_silent(self) -> bool:
        """Whether nothing in it is louder than -60 dBFS."""
        return self.samples.size == 0 or _peak(self.samples) < _SILENCE_PEAK

    @property
    def is_clipped(self) -> bool:
        """Whether more than a thousandth of it is clipped."""
        return self.clipped_samples > _CLIPPED_SHARE * self.samples.size


@dataclass(frozen=True, slots=True)
class AudioEvidence:
    """What was found. `faults` make it no evidence; `doubts` are for people to listen to."""

    caller: Track | None
    agent: Track | None
    faults: tuple[str, ...]
    doubts: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the recordings."""
        return not self.faults and not self.doubts


def audio_evidence(caller_path: Path, agent_path: Path) -> AudioEvidence:
    """Return what the caller's and the agent's recording are worth. Raises nothing."""
    faults: list[str] = []
    doubts: list[str] = []
    caller = _track("caller", caller_path, faults)
    agent = _track("agent", agent_path, faults)
    if caller is not None and agent is not None:
        unequal = _difference(caller, agent)
        if unequal is not None:
            faults.append(unequal)
    if caller is not None and caller.is_silent:
        faults.append("the caller's track is silent")
    if agent is not None and agent.is_silent:
        # That may be what happened: an agent that never spoke.
        doubts.append("the agent's track is silent")
    for name, track in (("caller", caller), ("agent", agent)):
        if track is not None and track.is_clipped:
            share = track.clipped_samples / track.samples.size
            doubts.append(f"the {name}'s track is clipped ({share:.1%} of it)")
    return AudioEvidence(caller, agent, tuple(faults), tuple(doubts))


def clipped_samples(samples: Samples) -> int:
    """Return how many samples lie in runs of at least three at full scale."""
    loud = np.abs(samples.astype(np.int32)) >= _CLIPPED_LEVEL
    edges = np.flatnonzero(np.diff(np.concatenate(([False], loud, [False])).astype(np.int8)))
    lengths = edges[1::2] - edges[::2]
    return int(lengths[lengths >= _CLIPPED_RUN].sum())


def _track(name: str, path: Path, faults: list[str]) -> Track | None:
    try:
        fault = header_fault(path)
        samples, sample_rate_hz = read_wav(path)
    except FileNotFoundError:
        faults.append(f"the {name}'s track is missing")
        return None
    except (OSError, ValueError, RuntimeError) as error:
        faults.append(f"the {name}'s track can't be read: {error}")
        return None
    if fault is not None:
        faults.append(f"the {name}'s track is damaged: {fault}")
    return Track(samples, sample_rate_hz, clipped_samples(samples))


def _difference(caller: Track, agent: Track) -> str | None:
    if caller.sample_rate_hz != agent.sample_rate_hz:
        return (
            f"the tracks have different sample rates ({caller.sample_rate_hz} Hz the caller's, "
            f"{agent.sample_rate_hz} Hz the agent's)"
        )
    tolerance = round(_LENGTH_TOLERANCE_SECONDS * caller.sample_rate_hz)
    if abs(caller.samples.size - agent.samples.size) <= tolerance:
        return None
    return (
        f"the tracks are not equally long ({caller.duration_seconds:.2f} s the caller's, "
        f"{agent.duration_seconds:.2f} s the agent's)"
    )


def _peak(samples: Samples) -> float:
    return float(np.abs(samples.astype(np.int32)).max()) / FULL_SCALE
