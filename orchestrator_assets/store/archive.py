"""Moving a task's directory to the archive of a failed attempt, and back (A7)."""

from __future__ import annotations

from pathlib import Path

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.atomic import make_directory, sync_directory

ARCHIVE_INFIX = "_failed_attempt_"


def archive_path(directory: Path, attempt: int) -> Path:
    """Return where the attempt's files lie once it has failed: beside the task's directory."""
    return directory.with_name(f"{directory.name}{ARCHIVE_INFIX}{attempt}")


def move_directory(source: Path, target: Path) -> None:
    """Rename a directory, durably. An empty directory at `target` gives way.

    Raises RunDirectoryError if `target` holds anything: nothing is overwritten, nothing nested.
    """
    if target.exists() and any(target.iterdir()):
        raise RunDirectoryError(
            f"{source} can't be moved to {target}, which is there already; move that one away"
        )
    make_directory(target.parent)
    source.rename(target)
    sync_directory(target.parent)
    if source.parent != target.parent:
        sync_directory(source.parent)
