"""Faults of the caller's voice, for planting: what it means to say is right, its sound is not.

Each works on the frames of a turn, so that the clean track and the line are spoilt alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from orchestrator_assets.call.callers.base import CallerFrame
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.records import CallerFaultKind

GARBLED_BLOCK_FRAMES = (2, 4)
"""40 to 80 ms: shorter than a syllable, so no word is left, and long enough to sound like voice."""
QUIET_GAIN_DB = -46.0
"""From -22 to -68 dBFS: below the voice detector's floor, and at that of mu-law."""
CLIPPING_GAIN_DB = 30.0
"""From -22 dBFS well into full scale: about half of all samples are clipped."""

_Frames = tuple[CallerFrame, ...]


def spoilt(frames: _Frames, kinds: set[CallerFaultKind], seed: int) -> _Frames:
    """Return a turn's frames with the faults of these kinds that are of sound; others do nothing.

    The same seed spoils the same way.
    """
    for kind, spoiling in _SPOILING.items():
        if kind in kinds:
            frames = spoiling(frames, seed)
    return frames


def _garbled(frames: _Frames, seed: int) -> _Frames:
    """Cut the turn into blocks, each played backwards, in another order: as loud as before."""
    random_numbers = random.Random(seed)
    blocks = [
        tuple(_reversed(frame) for frame in reversed(block))
        for block in _blocks(frames, random_numbers)
    ]
    random_numbers.shuffle(blocks)
    return tuple(frame for block in blocks for frame in block)


def _blocks(frames: _Frames, random_numbers: random.Random) -> Iterator[Sequence[CallerFrame]]:
    start = 0
    while start < len(frames):
        length = random_numbers.randint(*GARBLED_BLOCK_FRAMES)
        yield frames[start : start + length]
        start += length


def _reversed(frame: CallerFrame) -> CallerFrame:
    return CallerFrame(clean=frame.clean[::-1].copy(), wire=frame.wire[::-1].copy())


def _too_quiet(frames: _Frames, _seed: int) -> _Frames:
    return _amplified(frames, QUIET_GAIN_DB)


def _clipped(frames: _Frames, _seed: int) -> _Frames:
    return _amplified(frames, CLIPPING_GAIN_DB)


def _amplified(frames: _Frames, gain_db: float) -> _Frames:
    gain = 10 ** (gain_db / 20)

    def amplify(samples: Samples) -> Samples:
        louder = np.clip(np.rint(samples * gain), -32_768, 32_767)
        amplified: Samples = louder.astype(np.int16)
        return amplified

    return tuple(CallerFrame(amplify(frame.clean), amplify(frame.wire)) for frame in frames)


_SPOILING: Mapping[CallerFaultKind, Callable[[_Frames, int], _Frames]] = {
    CallerFaultKind.GARBLE: _garbled,
    CallerFaultKind.TOO_QUIET: _too_quiet,
    CallerFaultKind.CLIP: _clipped,
}
