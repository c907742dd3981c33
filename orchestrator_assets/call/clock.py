"""The two clocks a call can run on.

The wall clock paces frames on an absolute schedule, so that a late frame delays no later one. It
works with any agent. The media clock advances when the agent says that it has dealt with the frame
(lockstep), so a call runs as fast as both sides can compute, and the same every time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

import numpy as np

from orchestrator_assets.call.conversation import FrameLateness
from orchestrator_assets.call.frames import FRAME_SECONDS


class Clock(Protocol):
    """Tells the frame loop when a frame's 20 ms are over."""

    @property
    def kind(self) -> Literal["wall", "media"]:
        """The name that `result.json` gives the clock."""
        ...

    @property
    def prebuffer_frames(self) -> int:
        """How many frames of the agent's audio to hold before play-out, against jitter."""
        ...

    def start(self) -> None:
        """Start the time of the call: now is second 0."""
        ...

    def frame_sent(self, frame: int) -> None:
        """Note that the frame with this index, from 0, has left."""
        ...

    async def frame_ended(self, frame: int) -> None:
        """Return when the frame's 20 ms are over."""
        ...

    def lateness(self) -> FrameLateness | None:
        """Return how late the frames left, where that means anything."""
        ...


class WallClock:
    """Real time, by the monotonic clock."""

    kind: Literal["wall"] = "wall"
    prebuffer_frames = 3

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._lateness_ms: list[float] = []

    def start(self) -> None:
        """Start the time of the call: now is second 0."""
        self._start = time.monotonic()

    def frame_sent(self, frame: int) -> None:
        """Note how late the frame left, against the absolute schedule."""
        late = time.monotonic() - (self._start + frame * FRAME_SECONDS)
        self._lateness_ms.append(late * 1000)

    async def frame_ended(self, frame: int) -> None:
        """Sleep until the next frame is due; at once when it is overdue."""
        due = self._start + (frame + 1) * FRAME_SECONDS
        await asyncio.sleep(max(0.0, due - time.monotonic()))

    def lateness(self) -> FrameLateness | None:
        """Return the median, 99th percentile and maximum; None before the first frame."""
        if not self._lateness_ms:
            return None
        p50, p99, worst = np.percentile(self._lateness_ms, [50, 99, 100])
        return FrameLateness(
            p50_ms=round(float(p50), 3), p99_ms=round(float(p99), 3), max_ms=round(float(worst), 3)
        )


class MediaClock:
    """The time of the audio itself: a frame is over when the agent has dealt with it.

    `wait_for_frame` returns when the agent has acknowledged the frame with that index.
    """

    kind: Literal["media"] = "media"
    prebuffer_frames = 0

    def __init__(self, wait_for_frame: Callable[[int], Awaitable[None]]) -> None:
        self._wait_for_frame = wait_for_frame

    def start(self) -> None:
        """Frames count from 0 by themselves."""

    def frame_sent(self, frame: int) -> None:
        """A frame is never late on this clock."""

    async def frame_ended(self, frame: int) -> None:
        """Return when the agent has acknowledged the frame."""
        await self._wait_for_frame(frame)

    def lateness(self) -> FrameLateness | None:
        """Return None: a frame is never late on this clock."""
        return None
