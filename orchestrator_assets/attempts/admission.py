"""Who may call: an admission to prepare, in order of urgency, then a slot for the live call."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import NamedTuple


class _Waiting(NamedTuple):
    first_attempt: bool
    shortness: float
    sequence: int
    admitted: asyncio.Future[None]


class Admission:
    """Bounds the attempts that prepare or hold a call.

    Retries come first, then the longest expected calls. Without a bound every task would make its
    caller's speech at once and keep the machine from the calls that are live.
    """

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: list[_Waiting] = []
        self._sequence = 0

    async def enter(self, *, is_retry: bool, expected_seconds: float) -> None:
        """Wait for admission."""
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
            if admitted.done() and not admitted.cancelled():
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


class Ticket:
    """One task's admission, which it may hold or not."""

    def __init__(self, admission: Admission, expected_seconds: float) -> None:
        self._admission = admission
        self._expected_seconds = expected_seconds
        self._held = False

    async def obtain(self, *, is_retry: bool = False) -> None:
        """Wait for admission, unless it is held already."""
        if not self._held:
            await self._admission.enter(is_retry=is_retry, expected_seconds=self._expected_seconds)
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
        self, slots: asyncio.Semaphore, ticket: Ticket, on_live: Callable[[], Awaitable[None]]
    ) -> None:
        self.went_live = False
        self.live_seconds = 0.0
        self._slots = slots
        self._ticket = ticket
        self._on_live = on_live
        self._entered = 0.0

    async def __aenter__(self) -> None:
        await self._slots.acquire()
        try:
            if not self.went_live:
                self.went_live = True
                await self._on_live()
        except BaseException:
            self._slots.release()
            raise
        self._entered = asyncio.get_running_loop().time()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.live_seconds += asyncio.get_running_loop().time() - self._entered
        self._slots.release()
        self._ticket.give_back()
