"""Writing files so that a reader, and a machine that lost power, never see half of one (S1)."""

from __future__ import annotations

import json
import math
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by a file with this content, durably; its directory is made if missing.

    On failure (OSError) what `path` held before is untouched.
    """
    make_directory(path.parent)
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    sync_directory(path.parent)


def write_text(path: Path, text: str) -> None:
    """Like `write_bytes`, as UTF-8. Lone surrogates become U+FFFD: UTF-8 has no bytes for them."""
    write_bytes(path, without_lone_surrogates(text).encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Like `write_text`, as indented JSON that keeps non-ASCII text readable.

    NaN and infinities, which JSON lacks, become null. Raises TypeError for what is no JSON value.
    """
    write_text(path, json_text(value, indent=2) + "\n")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return `value` as JSON, compact unless `indent` is given."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=indent)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def without_lone_surrogates(text: str) -> str:
    """Return `text` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def make_directory(path: Path) -> None:
    """Make a directory and its missing parents, durably."""
    if path.is_dir():
        return
    missing = [path]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    path.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync_directory(made.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: what was made, renamed or removed there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
