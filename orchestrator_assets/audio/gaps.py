"""Finds dropouts: places where a track stands still in the middle of speech.

A lost packet, a buffer that ran empty or a write that failed leaves a constant value, mostly zero,
for 20 ms and more. So do the pauses of synthesised speech. What tells them apart are the edges: a
voice fades and swells, a dropout cuts it in full sound. In synthesised calls the 5 ms next to a
pause are at least 38 dB below the loud parts of the track; within a voice they are seldom below 25.
A voice that was cut because the other side barged in is no dropout.

A dropout that begins and ends in a pause takes nothing away, and is not found. One that begins in a
pause and ends in full sound looks like a plosive behind a noise gate; it is found only where a
second track of the same sound (`witness`) goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.findings import Stretch
from orchestrator_assets.audio.powers import block_of, powers_of
from orchestrator_assets.audio.runs import runs_of
from orchestrator_assets.audio.samples import FULL_SCALE, Samples
from orchestrator_assets.audio.voice_activity import SpeechRegion

_SHORTEST_SECONDS = 0.02
_BRIEF_SECONDS = 0.3
"""Nobody falls silent for less because the other side barged in."""
_TO_FALL_SILENT_SECONDS = 1.5
"""An interrupted side has stopped so long after the other has begun, and may go on after it."""
_EDGE_SECONDS = 0.005
_FULL_SOUND_DB = -25.0
_FAINTEST_DBFS = -50.0
"""A voice that is not even this loud is full of holes after mu-law."""
_LOUD_PERCENTILE = 95
_BLOCK_SECONDS = 0.01
_FEWEST_WITNESSED_BLOCKS = 2


@dataclass(frozen=True, slots=True)
class Witness:
    """A second track of the same sound, on the same time line."""

    samples: Samples
    sample_rate_hz: int


def gaps_in(
    samples: Samples,
    sample_rate_hz: int,
    *,
    other_side: Sequence[SpeechRegion] = (),
    witness: Witness | None = None,
) -> list[Stretch]:
    """Return the dropouts within speech, in order.

    `other_side` is where the other side speaks: where it does, a longer silence is a change of
    turns. A dropout is 20 ms long or more, and lasts until the track moves again. Edges are exact
    to a sample; where only the witness tells, to 10 ms.
    """
    full_sound = _full_sound(_block_powers(samples, sample_rate_hz))
    if full_sound == 0:
        return []
    goes_on = None if witness is None else _full_sound_blocks(witness)
    found = []
    for start, end in _still(samples, round(_SHORTEST_SECONDS * sample_rate_hz)):
        gap = Stretch(start / sample_rate_hz, end / sample_rate_hz)
        brief = gap.duration_seconds <= _BRIEF_SECONDS
        lost = None if goes_on is None else _lost(gap, goes_on)
        if lost is not None:
            found.append(gap if brief else lost)
        elif _is_cut(samples, sample_rate_hz, gap, full_sound):
            last = end == samples.size
            if brief or (goes_on is None and not last and not _gives_way(gap, other_side)):
                found.append(gap)
    return found


def _still(samples: Samples, shortest: int) -> Iterator[tuple[int, int]]:
    """Yield (first sample, sample after the last) of every run of one value."""
    same = samples[1:] == samples[:-1]
    for first, last in runs_of(same, max(shortest, 2) - 1):
        yield int(first), int(last) + 1


def _is_cut(samples: Samples, sample_rate_hz: int, gap: Stretch, full_sound: float) -> bool:
    start = round(gap.start_seconds * sample_rate_hz)
    if start == 0:
        return False
    edge = samples[max(0, start - block_of(_EDGE_SECONDS, sample_rate_hz)) : start]
    # Measured from the value that is held: a constant offset is no sound.
    deviation = (edge.astype(np.float64) - float(samples[start])) / FULL_SCALE
    return float(np.mean(np.square(deviation))) >= full_sound


def _gives_way(gap: Stretch, other_side: Sequence[SpeechRegion]) -> bool:
    return any(
        region.start_seconds < gap.end_seconds
        and region.end_seconds > gap.start_seconds - _TO_FALL_SILENT_SECONDS
        for region in other_side
    )


def _lost(gap: Stretch, goes_on: NDArray[np.bool_]) -> Stretch | None:
    """Return the part of a gap in which the witness goes on in full sound."""
    # Blocks that lie inside the gap as a whole; the tracks may be a few milliseconds apart.
    first = int(np.ceil(gap.start_seconds / _BLOCK_SECONDS))
    inside = np.flatnonzero(goes_on[first : int(gap.end_seconds / _BLOCK_SECONDS)])
    if inside.size < _FEWEST_WITNESSED_BLOCKS:
        return None
    return Stretch(
        max(gap.start_seconds, (first + int(inside[0])) * _BLOCK_SECONDS),
        min(gap.end_seconds, (first + int(inside[-1]) + 1) * _BLOCK_SECONDS),
    )


def _full_sound_blocks(witness: Witness) -> NDArray[np.bool_]:
    powers = _block_powers(witness.samples, witness.sample_rate_hz)
    loud = _full_sound(powers)
    return powers >= loud if loud > 0 else np.zeros(powers.size, dtype=np.bool_)


def _full_sound(block_powers: NDArray[np.float32]) -> float:
    """Return the least power of full sound, 25 dB below the loud parts; 0 for a faint track."""
    sounding = block_powers[block_powers > 0]
    loud = float(np.percentile(sounding, _LOUD_PERCENTILE)) if sounding.size else 0.0
    if loud < 10 ** (_FAINTEST_DBFS / 10):
        return 0.0
    return loud * 10 ** (_FULL_SOUND_DB / 10)


def _block_powers(samples: Samples, sample_rate_hz: int) -> NDArray[np.float32]:
    return powers_of(samples, block_of(_BLOCK_SECONDS, sample_rate_hz)).sound
