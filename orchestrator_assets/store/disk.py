"""Telling a disk that takes nothing more from a fault that concerns one file."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from orchestrator_assets.errors import StorageError

KEPT_FREE_BYTES = 64_000_000
"""Without so much room nobody is called: it is what a call of ten minutes records, and a bit."""

_TAKES_NO_MORE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


def raise_if_storage(error: BaseException) -> None:
    """Raise StorageError if `error`, or what it was raised for, says that the disk takes no more.

    Whatever comes next would meet the same fault, so it is no single task's.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, StorageError):
            raise seen
        if isinstance(seen, OSError) and seen.errno in _TAKES_NO_MORE:
            where = f" ({seen.filename})" if seen.filename else ""
            raise StorageError(
                f"nothing more can be written: {seen.strerror}{where}; "
                "make room, then run again: what is recorded is intact"
            ) from error
        seen = seen.__cause__ or seen.__context__


def check_room_for_a_call(directory: Path) -> None:
    """Raise StorageError if the disk `directory` lies on may be full before one more call ends."""
    free = shutil.disk_usage(directory).free
    if free < KEPT_FREE_BYTES:
        raise StorageError(
            f"only {free / 1e6:,.0f} MB are free at {directory}, and without "
            f"{KEPT_FREE_BYTES / 1e6:,.0f} MB nobody is called; "
            "make room, then run again: what is recorded is intact"
        )
