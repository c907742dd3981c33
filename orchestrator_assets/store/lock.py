"""One writer per task: lock files that name their holder and outlive no process (S4)."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.atomic import json_text

HEARTBEAT_SECONDS = 15.0
STALE_AFTER_SECONDS = 120.0
"""A holder on another host that has been silent for so long is taken to be dead."""

_GUARD_FILE = ".guard"


class TaskLocks:
    """The locks one invocation holds, a file a task. `beat` must be called every HEARTBEAT_SECONDS.

    A holder on this host is dead when its process is; one on another host when its heartbeat, the
    file's modification time, stops.
    """

    def __init__(self, directory: Path, run_id: str) -> None:
        self._directory = directory
        self._run_id = run_id
        self._held: set[Path] = set()

    def acquire(self, name: str) -> None:
        """Take the lock, also from a dead holder.

        Raises RunDirectoryError that names the holder if it is alive.
        """
        path = self._directory / f"{name}.lock"
        with exclusively(self._directory / _GUARD_FILE):
            holder = read_holder(path)
            if holder is not None and is_alive(path, holder):
                raise RunDirectoryError(
                    f"run {holder.get('run_id')} is working on it, on {holder.get('host')} "
                    f"(process {holder.get('pid')}, since {holder.get('since')}); "
                    f"wait for it or stop it ({path})"
                )
            path.write_text(json_text(self._identity()) + "\n", encoding="utf-8")
        self._held.add(path)

    def release(self, name: str) -> None:
        """Give the lock up, if it is held."""
        path = self._directory / f"{name}.lock"
        if path in self._held:
            self._held.discard(path)
            path.unlink(missing_ok=True)

    def beat(self) -> None:
        """Show that the holder is alive."""
        for path in tuple(self._held):
            with suppress(FileNotFoundError):  # Released meanwhile.
                os.utime(path)

    def _identity(self) -> dict[str, Any]:
        pid = os.getpid()
        return {
            "run_id": self._run_id,
            "host": socket.gethostname(),
            "pid": pid,
            "process_start": _process_start(pid),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }


@contextmanager
def exclusively(path: Path) -> Iterator[None]:
    """Hold the file lock on `path`, waiting for it. It ends with the process, if not before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_holder(path: Path) -> dict[str, Any] | None:
    """Return who a lock file says holds it; None if there is no lock, or a torn one."""
    try:
        holder = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        # Locks are written under the guard, so a torn one was left by a crash.
        return None
    return holder if isinstance(holder, dict) else None


def is_alive(path: Path, holder: dict[str, Any]) -> bool:
    """Tell whether a lock's holder still runs: by its process here, by its heartbeat elsewhere.

    Raises FileNotFoundError if the lock of another host's holder has been released meanwhile.
    """
    pid = holder.get("pid")
    if holder.get("host") != socket.gethostname() or not isinstance(pid, int):
        return time.time() - path.stat().st_mtime < STALE_AFTER_SECONDS
    started = _process_start(pid)
    # Another start time means that the number has gone to another process.
    return started is not None and started == holder.get("process_start")


def _process_start(pid: int) -> str | None:
    """Return when a process of this host started, in clock ticks since boot; None if it is gone."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command name, in parentheses, may hold spaces; `starttime` is field 22 of proc(5).
    return status.rpartition(")")[2].split()[19]
