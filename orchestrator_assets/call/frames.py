"""The unit of time of a call: one 20 ms frame of telephone audio.

On the wire a frame is 160 bytes of G.711 mu-law (8 kHz, mono). The caller's clean track is kept at
16 kHz beside it, so a frame there is 320 samples.
"""

from __future__ import annotations

FRAME_SECONDS = 0.02
FRAMES_PER_SECOND = 50
WIRE_SAMPLE_RATE_HZ = 8_000
WIRE_FRAME_SAMPLES = 160
CLEAN_SAMPLE_RATE_HZ = 16_000
CLEAN_FRAME_SAMPLES = 320
MULAW_SILENCE = b"\xff"


def seconds_to_frames(seconds: float) -> int:
    """Return how many frames last at least `seconds`, to the nearest frame."""
    return round(seconds * FRAMES_PER_SECOND)


def frames_to_seconds(frames: int) -> float:
    """Return how long `frames` frames last, in seconds."""
    return frames / FRAMES_PER_SECOND
