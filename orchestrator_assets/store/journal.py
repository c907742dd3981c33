"""An append-only file of JSON lines that survives being killed at any byte (S3)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.atomic import (
    json_text,
    make_directory,
    sync_directory,
    without_lone_surrogates,
)

_NEWLINE = b"\n"


class Journal:
    """One journal. Appends must not run concurrently; whoever writes holds the task's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """Return all entries in order; none if there is no file. A torn last line is left out.

        Raises RunDirectoryError if any other line is not a JSON object.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        # Not splitlines(): U+2028 and its like stand unescaped inside JSON strings.
        *lines, torn = content.split(_NEWLINE)
        entries = [self._entry(number, line) for number, line in enumerate(lines, start=1)]
        last = _parsed(torn)
        return entries if last is None else [*entries, last]

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add one entry, durably. Mends a torn last line first."""
        line = without_lone_surrogates(json_text(dict(entry))).encode("utf-8") + _NEWLINE
        is_new = not self.path.exists()
        if is_new:
            make_directory(self.path.parent)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _mend(descriptor)
            written = 0
            while written < len(line):
                written += os.write(descriptor, line[written:])
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_directory(self.path.parent)

    def _entry(self, number: int, line: bytes) -> dict[str, Any]:
        entry = _parsed(line)
        if entry is None:
            raise RunDirectoryError(
                f"{self.path}, line {number}: is not a JSON object; "
                "restore the line from a backup, or delete it"
            )
        return entry


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _mend(descriptor: int) -> None:
    """End a last line that lacks its newline, or cut it off if it was torn in the middle."""
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == _NEWLINE:
        return
    content = os.pread(descriptor, size, 0)
    start = content.rfind(_NEWLINE) + 1
    if _parsed(content[start:]) is None:
        os.ftruncate(descriptor, start)
    else:
        os.write(descriptor, _NEWLINE)
