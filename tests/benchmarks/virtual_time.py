"""An event loop whose clock jumps to the next timer instead of waiting for it."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Time stands still while anything runs, threads included, and jumps when all is idle."""

    def __init__(self) -> None:
        self._now = 0.0
        self._in_threads = 0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        """Return the virtual time, in seconds since the loop was made."""
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass, unless a thread is still at work: then nothing is idle."""
        self._now += seconds

    @property
    def is_idle(self) -> bool:
        """Whether no thread is at work for the loop."""
        return self._in_threads == 0

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """Run in a thread, which takes no virtual time."""
        future = super().run_in_executor(executor, func, *args)
        self._in_threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, _: Any) -> None:
        self._in_threads -= 1


class _JumpingSelector(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if not self._loop.is_idle:
            return super().select(None)
        events = super().select(0)
        if not events:
            self._loop.jump(timeout)
        return events


def run_in_virtual_time(work: Coroutine[Any, Any, _T]) -> _T:
    """Run to the end, like `asyncio.run`."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)
