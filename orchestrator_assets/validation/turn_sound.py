"""How loud and how clean a caller's turn is on its recordings, whatever is said in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orchestrator_assets.audio.clipping import clipping_of
from orchestrator_assets.audio.levels import speech_level_dbfs
from orchestrator_assets.audio.samples import resample
from orchestrator_assets.evaluation import SpeechFidelityThresholds
from orchestrator_assets.validation.caller_account import ClaimedTurn
from orchestrator_assets.validation.evidence import CallerEvidence, CallerTrack

_SAME_SOUND_DB = 20.0
"""Mu-law leaves 37 dB between speech and its own noise; a lost frame of 20 ms in a turn, 18."""


@dataclass(frozen=True, slots=True)
class TrackSound:
    """A turn on one track: the level of its speech (dBFS), and the clipped share of its samples."""

    file_name: str
    level_dbfs: float
    clipped_share: float

    def faults(self, thresholds: SpeechFidelityThresholds) -> list[str]:
        """Return what is wrong with it, in a line each."""
        found = []
        if self.level_dbfs < thresholds.quietest_dbfs:
            level = f"{self.level_dbfs:.1f} dBFS" if math.isfinite(self.level_dbfs) else "silent"
            found.append(
                f"too quiet on {self.file_name}: {level}, below {thresholds.quietest_dbfs:g}"
            )
        if self.clipped_share > thresholds.most_clipped:
            found.append(
                f"clipped on {self.file_name}: {self.clipped_share:.1%} of it, "
                f"more than {thresholds.most_clipped:.1%}"
            )
        return found


def sound_on(track: CallerTrack, turn: ClaimedTurn) -> TrackSound:
    """Measure a turn on one of the caller's tracks."""
    samples = track.sound_of(turn)
    level = speech_level_dbfs(samples, track.sample_rate_hz)
    return TrackSound(
        track.file_name,
        -math.inf if level is None else level,
        clipping_of(samples, track.sample_rate_hz).share,
    )


def line_differs(turn: ClaimedTurn, evidence: CallerEvidence) -> bool:
    """Tell whether the turn sounds different on the line from what the caller said.

    But for mu-law's noise and a gain it should be the same. Where it is, listening to both is
    waste; where it isn't, the agent heard something else.
    """
    line = evidence.line.sound_of(turn)
    clean = resample(
        evidence.clean.sound_of(turn),
        evidence.clean.sample_rate_hz,
        evidence.line.sample_rate_hz,
    )
    count = min(line.size, clean.size)
    sent, said = line[:count].astype(np.float64), clean[:count].astype(np.float64)
    energy = float(said @ said)
    if energy == 0:
        return bool(sent.any())
    gain = float(sent @ said) / energy
    difference = sent - gain * said
    left = float(difference @ difference)
    return float(sent @ sent) < left * 10 ** (_SAME_SOUND_DB / 10)


def finite(level_dbfs: float) -> float | None:
    """Return a level rounded to 0.1 dB, or None for silence, which JSON has no number for."""
    return round(level_dbfs, 1) if math.isfinite(level_dbfs) else None
