"""Who is worked on when: a task takes memory and a place only while something happens to it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from orchestrator_assets.attempts.admission import Ticket
from orchestrator_assets.attempts.context import AttemptContext
from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.outlook import Outlook
from orchestrator_assets.attempts.task_life import TaskLife
from orchestrator_assets.errors import StorageError

LOOKED_AT_AT_ONCE = 8
"""Tasks whose files are read, judged or scored side by side, where more slots don't allow more."""


class Schedule:
    """Settles tasks, in their order: those that call as slots allow, all others beside them."""

    def __init__(
        self, context: AttemptContext, slots: int, settled: Callable[[TaskOutcome], None]
    ) -> None:
        self._context = context
        self._settled = settled
        self._places = asyncio.Semaphore(max(LOOKED_AT_AT_ONCE, slots))

    async def settle(self, outlooks: Iterable[Outlook]) -> None:
        """Return when all have settled, or when the disk takes no more and no call is live."""
        callers: deque[Outlook] = deque()
        others: deque[Outlook] = deque()
        for outlook in outlooks:
            (callers if outlook.needs_call else others).append(outlook)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._call(callers, group))
            group.create_task(self._look_at(others, group))

    async def _call(self, callers: deque[Outlook], group: asyncio.TaskGroup) -> None:
        """Start each task once it is admitted: retries and longer calls go before it."""
        while callers:
            outlook = callers.popleft()
            ticket = Ticket(self._context.admission, outlook.expected_seconds)
            try:
                await ticket.obtain()
            except StorageError:
                return
            group.create_task(self._settle(TaskLife(outlook.task, self._context, ticket)))

    async def _look_at(self, others: deque[Outlook], group: asyncio.TaskGroup) -> None:
        """Start each task as a place is free; one that turns out to need a call leaves it."""
        while others and self._context.storage.error is None:
            await self._places.acquire()
            outlook = others.popleft()
            ticket = Ticket(self._context.admission, outlook.expected_seconds)
            place = _Place(self._places)
            life = TaskLife(outlook.task, self._context, ticket, before_calling=place.leave)
            group.create_task(self._settle(life, place))

    async def _settle(self, life: TaskLife, place: _Place | None = None) -> None:
        try:
            outcome = await life.settle()
        finally:
            if place is not None:
                place.leave()
        if outcome is not None:
            self._settled(outcome)


class _Place:
    """One place, left once."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places: asyncio.Semaphore | None = places

    def leave(self) -> None:
        if self._places is not None:
            self._places.release()
            self._places = None
