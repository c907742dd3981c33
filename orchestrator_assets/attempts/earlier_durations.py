"""How long calls took before: in this run directory, or in another evaluation's beside it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator_assets.attempts.events import AttemptEventKind
from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.records import Task
from orchestrator_assets.store.journal import Journal
from orchestrator_assets.store.run_directory import RunDirectory

logger = logging.getLogger(__name__)


def mean_call_seconds(journal: Journal) -> float | None:
    """Return how long a task's calls took in the mean; None if there was none that took any time.

    Raises RunDirectoryError if the journal is damaged.
    """
    durations = [
        seconds
        for entry in journal.read()
        if entry.get("event") == AttemptEventKind.ENDED
        and isinstance(seconds := entry.get("duration_seconds"), int | float)
        and seconds > 0
    ]
    return sum(durations) / len(durations) if durations else None


class EarlierDurations:
    """What the other run directories beside `run_directory` know of the same data set.

    Reading one costs a listing and, for each task asked for, one small file.
    """

    def __init__(self, run_directory: RunDirectory) -> None:
        self._others = [
            (other, other.journal_names()) for other in _others_of_same_data_set(run_directory)
        ]

    def seconds(self, task: Task) -> float | None:
        """Return how long the record's calls took where it was called last, if it ever was."""
        # With another number of trials its journals have other names.
        keys = dict.fromkeys((task.key, task.record.key, f"{task.record.key}:trial_0"))
        for other, names in self._others:
            for name in (f"{key}.jsonl" for key in keys):
                if name in names and (seconds := _seconds(other.journal_path(name))) is not None:
                    return seconds
        return None


def _seconds(path: Path) -> float | None:
    try:
        return mean_call_seconds(Journal(path))
    except (RunDirectoryError, OSError):
        logger.debug("no durations from %s", path, exc_info=True)
        return None


class _DataSet(NamedTuple):
    path: str
    sha256: str | None


def _others_of_same_data_set(run_directory: RunDirectory) -> list[RunDirectory]:
    """Return those beside this one whose config.json names its data set, the newest first."""
    own = _data_set(run_directory)
    if own is None:
        return []
    others = []
    for path in run_directory.root.parent.iterdir():
        other = RunDirectory(path)
        if path == run_directory.root or (theirs := _data_set(other)) is None:
            continue
        if theirs.path == own.path or (own.sha256 is not None and theirs.sha256 == own.sha256):
            others.append((other.config_path.stat().st_mtime, path.name, other))
    return [other for _, _, other in sorted(others, key=lambda each: each[:2], reverse=True)]


def _data_set(run_directory: RunDirectory) -> _DataSet | None:
    try:
        config: Any = json.loads(run_directory.config_path.read_text(encoding="utf-8"))
        return _DataSet(config["data_set"], config["provenance"]["dataset"]["sha256"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
