"""Tells which files were opened to be written, by the interpreter's own account of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_watching: list[tuple[Path, set[str]]] = []


@contextmanager
def files_written_below(root: Path) -> Iterator[set[str]]:
    """Collect the paths below `root`, relative to it, that are opened for writing meanwhile.

    A file that is written to another name and renamed is collected under that other name alone.
    """
    _install()
    watch = (root, set[str]())
    _watching.append(watch)
    try:
        yield watch[1]
    finally:
        _watching.remove(watch)


def written_in_place(paths: set[str]) -> set[str]:
    """Return those of the paths that are no temporary files."""
    return {path for path in paths if not path.endswith(".tmp")}


@cache
def _install() -> None:
    # There is no taking an audit hook away again; it does nothing while nobody is watching.
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not _watching:
        return
    path, _, flags = arguments
    if not isinstance(path, str | bytes | os.PathLike) or not flags & (os.O_WRONLY | os.O_RDWR):
        return
    opened = Path(os.fsdecode(path))
    for root, paths in _watching:
        if opened.is_relative_to(root):
            paths.add(opened.relative_to(root).as_posix())
