"""Telling a disk that takes nothing more from a fault that concerns one file."""

from __future__ import annotations

import errno

from orchestrator_assets.errors import StorageError

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
