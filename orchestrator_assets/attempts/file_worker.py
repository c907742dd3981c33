"""File work beside the event loop: an fsync must not hold up the calls that are live (C3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

from orchestrator_assets.store.disk import raise_if_storage

_P = ParamSpec("_P")
_T = TypeVar("_T")


class FileWorker:
    """Threads for file work alone, so that it never queues behind a judge. Close it at the end."""

    def __init__(self, threads: int = 4) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="run-directory")

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run `function` and return what it returns.

        Cancellation is passed on only after the function has ended: what a task does to its files
        stays in order, and nothing of it is left half done. Raises StorageError where the disk
        takes no more.
        """
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._executor, lambda: function(*args, **kwargs))
        try:
            return await asyncio.shield(work)
        except OSError as error:
            raise_if_storage(error)
            raise
        except asyncio.CancelledError:
            while not work.done():
                with suppress(asyncio.CancelledError):  # The first one is raised below.
                    await asyncio.wait({work})
            raise

    def close(self) -> None:
        """End the threads, after what they are doing."""
        self._executor.shutdown(wait=True)
