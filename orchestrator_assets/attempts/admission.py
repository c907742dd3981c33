"""Who may call: an admission to prepare, then a slot for the live call, both by urgency."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import NamedTuple

from orchestrator_assets.errors import StorageError


class _Waiting(NamedTuple):
    first_attempt: bool
    shortness: float
    sequence: int
    admitted: asyncio.Future[None]


class Admission:
    """Bounds how many are in at once. Retries come first, then the longest expected calls."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: list[_Waiting] = []
        self._sequence = 0
        self._closed: str | None = None

    async def enter(self, *, is_retry: bool, expected_seconds: float) -> None:
        """Wait for admission. Raises StorageError once the admission is closed."""
        if self._closed is not None:
            raise StorageError(self._closed)
        if self._free > 0:
            self._free -= 1
            return
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sequence += 1
        entry = _Waiting(not is_retry, -expected_seconds, self._sequence, admitted)
        heapq.heappush(self._waiting, entry)
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled() and admitted.exception() is None:
                self.leave()
            raise

    def leave(self) -> None:
        """Give the admission to whoever waits most urgently."""
        while self._waiting:
            admitted = heapq.heappop(self._waiting).admitted
            if not admitted.done():
                admitted.set_result(None)
                return
        self._free += 1

    def close(self, reason: str) -> None:
        """Turn away all who wait, and all who come later; who is in stays in."""
        self._closed = reason
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.admitted.done():
                each.admitted.set_exception(StorageError(reason))


class Ticket:
    """One task's admission, which it may hold or not, and the urgency of its next call."""

    def __init__(self, admission: Admission, expected_seconds: float) -> None:
        self.expected_seconds = expected_seconds
        self.is_retry = False
        self._admission = admission
        self._held = False

    async def obtain(self, *, is_retry: bool = False) -> None:
        """Wait for admission, unless it is held already."""
        self.is_retry = is_retry
        if not self._held:
            await self._admission.enter(is_retry=is_retry, expected_seconds=self.expected_seconds)
            self._held = True

    def give_back(self) -> None:
        """End the admission, if it is held."""
        if self._held:
            self._held = False
            self._admission.leave()


class CallSlot(AbstractAsyncContextManager[None]):
    """The slot of one attempt, held while its call is live.

    `on_live` runs once, when the slot has been obtained for the first time. When the call is over,
    the admission goes to the next attempt.
    """

    def __init__(
        self, slots: Admission, ticket: Ticket, on_live: Callable[[], Awaitable[None]]
    ) -> None:
        self.went_live = False
        self.live_seconds = 0.0
        self._slots = slots
        self._ticket = ticket
        self._on_live = on_live
        self._entered = 0.0

    async def __aenter__(self) -> None:
        ticket = self._ticket
        await self._slots.enter(is_retry=ticket.is_retry, expected_seconds=ticket.expected_seconds)
        try:
            if not self.went_live:
                await self._go_live()
        except BaseException:
            self._slots.leave()
            raise
        self._entered = asyncio.get_running_loop().time()

    async def _go_live(self) -> None:
        # Whoever is cancelled in here has said that it went live.
        self.went_live = True
        try:
            await self._on_live()
        except Exception:
            self.went_live = False
            raise

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.live_seconds += asyncio.get_running_loop().time() - self._entered
        self._slots.leave()
        self._ticket.give_back()
