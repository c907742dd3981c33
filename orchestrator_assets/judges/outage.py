"""Spares everybody the wait for an endpoint that is down.

Ten thousand questions that each wait out the backoff would take a day to learn the same thing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from orchestrator_assets.judges.failures import PausedError

_LONGEST_PAUSE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Passage:
    """Leave to ask. A probe finds out whether an outage is over, and asks only once."""

    entered_at: float
    is_probe: bool


class Outage:
    """What is known of an endpoint that gives no answers.

    Once a question went without one, and no other was answered meanwhile, nobody asks for
    `pause_seconds` (0: never mind). Then a single question may, and decides for all; those that
    come meanwhile wait for what it finds.
    """

    def __init__(self, pause_seconds: float, clock: Callable[[], float]) -> None:
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._until: float | None = None
        self._reason = ""
        self._probe_over: asyncio.Event | None = None
        self._answered_at = -1.0

    @asynccontextmanager
    async def passage(self) -> AsyncIterator[Passage]:
        """Give leave to ask one question. Raises PausedError if nobody may."""
        await self.over()
        now = self._clock()
        if self._until is None:
            yield Passage(now, is_probe=False)
            return
        probe_over = self._probe_over = asyncio.Event()
        try:
            yield Passage(now, is_probe=True)
        finally:
            self._probe_over = None
            probe_over.set()

    async def over(self) -> None:
        """Return as soon as somebody may ask. Raises PausedError if it is to be later."""
        while self._until is not None:
            remaining = self._until - self._clock()
            if remaining > 0:
                raise PausedError(
                    f"not asked for {remaining:.0f} s more, for it gave no answer: {self._reason}"
                )
            if self._probe_over is None:
                return
            await self._probe_over.wait()

    def answered(self) -> None:
        """Note that the endpoint answers."""
        self._until = None
        self._answered_at = self._clock()

    def unanswered(self, passage: Passage, reason: str, asked_to_wait_seconds: float = 0) -> None:
        """Note that a question went without an answer, whatever was tried."""
        if self._pause_seconds <= 0:
            return
        now = self._clock()
        if self._answered_at > passage.entered_at and not asked_to_wait_seconds:
            return
        pause = min(max(self._pause_seconds, asked_to_wait_seconds), _LONGEST_PAUSE_SECONDS)
        self._until = max(self._until or 0.0, now + pause)
        self._reason = reason
