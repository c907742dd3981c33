"""Which living runs hold the locks of which tasks, for whoever only wants to know."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from orchestrator_assets.store.lock import is_alive, read_holder

_SUFFIX = ".lock"


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The run that works on a task, where, and since when."""

    run_id: str
    host: str
    since: datetime | None


def living_holders(directory: Path) -> dict[str, LockHolder]:
    """Return the holders of the locks in a directory, by task key. Dead ones hold nothing."""
    holders = {}
    for path in directory.glob(f"*{_SUFFIX}"):
        holder = _living_holder(path)
        if holder is not None:
            holders[path.name.removesuffix(_SUFFIX)] = holder
    return holders


def _living_holder(path: Path) -> LockHolder | None:
    holder = read_holder(path)
    try:
        if holder is None or not is_alive(path, holder):
            return None
    except FileNotFoundError:  # Released meanwhile.
        return None
    try:
        since = datetime.fromisoformat(str(holder.get("since")))
    except ValueError:
        since = None
    return LockHolder(str(holder.get("run_id")), str(holder.get("host")), since)
