"""The journal of invocations: who worked on a run directory, and when."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.lock import exclusively
from orchestrator_assets.store.run_directory import RunDirectory

_STARTED = "started"
_ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run over some tasks. `ended_at` is None if it was killed, or is still going on."""

    run_id: str
    started_at: datetime
    ended_at: datetime | None = None


def record_run_started(run_directory: RunDirectory, run_id: str, *, mode: str, tasks: int) -> None:
    """Note that an invocation begins with so many tasks."""
    _append(run_directory, run_id, _STARTED, mode=mode, tasks=tasks)


def record_run_ended(run_directory: RunDirectory, run_id: str) -> None:
    """Note that an invocation has ended, in whatever way."""
    _append(run_directory, run_id, _ENDED)


def _append(run_directory: RunDirectory, run_id: str, event: str, **facts: str | int) -> None:
    # Runs over disjoint tasks share this file, so here it is the file that is locked.
    with exclusively(run_directory.locks_path / ".runs"):
        run_directory.runs.append(
            {
                "event": event,
                "run_id": run_id,
                "time": datetime.now(UTC).isoformat(),
                "host": socket.gethostname(),
                "pid": os.getpid(),
                **facts,
            }
        )


def read_runs(run_directory: RunDirectory) -> list[Invocation]:
    """Return all invocations, in the order in which they began.

    Raises RunDirectoryError if the journal is damaged.
    """
    runs: list[Invocation] = []
    for number, entry in enumerate(run_directory.runs.read(), start=1):
        try:
            event, run_id = entry["event"], entry["run_id"]
            time = datetime.fromisoformat(entry["time"])
        except (KeyError, TypeError, ValueError) as error:
            raise RunDirectoryError(
                f"{run_directory.runs.path}, line {number}: is not an entry of ours ({error!r}); "
                "restore or delete the line"
            ) from error
        if event == _STARTED:
            runs.append(Invocation(run_id, time))
        else:
            _end(runs, run_id, time)
    return runs


def _end(runs: list[Invocation], run_id: str, time: datetime) -> None:
    # An id may come back when a run is executed again; the latest open one is meant.
    for index in range(len(runs) - 1, -1, -1):
        if runs[index].run_id == run_id and runs[index].ended_at is None:
            runs[index] = Invocation(run_id, runs[index].started_at, time)
            return


def active_seconds(runs: Iterable[Invocation]) -> float:
    """Return how long at least one invocation was at work. Killed ones count nothing."""
    total = 0.0
    until: datetime | None = None
    spans = sorted((run.started_at, run.ended_at) for run in runs if run.ended_at is not None)
    for start, end in spans:
        begin = start if until is None else max(start, until)
        total += max(0.0, (end - begin).total_seconds())
        until = end if until is None else max(until, end)
    return total
