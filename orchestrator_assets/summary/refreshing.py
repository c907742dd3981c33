"""Rewrites the summaries while a run goes on, beside its event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from orchestrator_assets.attempts.outcomes import AttemptSummary, TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptListener
from orchestrator_assets.records import Task

REFRESH_SECONDS = 5.0
_IDLE_PER_BUSY_SECOND = 9.0
"""So that writing never takes more than a tenth of the time, however much there is to write."""

logger = logging.getLogger(__name__)


class ChangeListener:
    """Notes that there is something new to be told, and passes it on."""

    def __init__(self, listener: AttemptListener | None) -> None:
        self.changed = asyncio.Event()
        self._listener = listener

    def attempt_started(self, task: Task, attempt: int) -> None:
        """Note a call that goes live."""
        self.changed.set()
        if self._listener is not None:
            self._listener.attempt_started(task, attempt)

    def attempt_ended(self, task: Task, summary: AttemptSummary) -> None:
        """Note an attempt that ended."""
        self.changed.set()
        if self._listener is not None:
            self._listener.attempt_ended(task, summary)

    def task_settled(self, outcome: TaskOutcome) -> None:
        """Note a task that settled."""
        self.changed.set()
        if self._listener is not None:
            self._listener.task_settled(outcome)


@asynccontextmanager
async def refreshing(
    changed: asyncio.Event, write: Callable[[], None], *, every_seconds: float = REFRESH_SECONDS
) -> AsyncIterator[None]:
    """Call `write` in a thread whenever something has changed, at most every so often.

    One call at a time; none is going on any more on leaving. What it raises is logged: the last
    summary of a run, which is written after this, raises it again.
    """
    refresher = asyncio.create_task(_refresh(changed, write, every_seconds))
    try:
        yield
    finally:
        refresher.cancel()
        await asyncio.wait({refresher})


async def _refresh(changed: asyncio.Event, write: Callable[[], None], every_seconds: float) -> None:
    while True:
        await changed.wait()
        changed.clear()
        began = time.monotonic()
        await _to_the_end(write)
        took = time.monotonic() - began
        await asyncio.sleep(max(every_seconds, took * _IDLE_PER_BUSY_SECOND))


async def _to_the_end(write: Callable[[], None]) -> None:
    """Write in a thread, and return or pass a cancellation on only when that is over."""
    writing = asyncio.ensure_future(asyncio.to_thread(_write, write))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        while not writing.done():
            with suppress(asyncio.CancelledError):  # The first one is raised below.
                await asyncio.wait({writing})
        raise


def _write(write: Callable[[], None]) -> None:
    try:
        write()
    except Exception:
        logger.warning("the summaries could not be brought up to date", exc_info=True)
