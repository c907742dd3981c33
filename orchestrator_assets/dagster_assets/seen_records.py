"""What the new-records sensor has seen of a data set, in a file per version.

A cursor is stored with every tick, so it only holds the version's hash; with a digest for each of
thousands of records in it, ticks would fill a disk. The files are written before the cursor moves
and not changed by it, so a tick that is repeated, or made twice at once, finds what it found
before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from orchestrator_assets.fingerprints import fingerprint_of
from orchestrator_assets.records import Record
from orchestrator_assets.store.atomic import write_json

_FOLDER = "data_sets"
_VERSION = re.compile(r"[0-9a-f]{8,64}")
_KEPT_VERSIONS = 5
"""So that another daemon's tick, or a cursor that was set back by hand, still finds its version."""


class SeenDataSet(BaseModel):
    """A version of a data set.

    `digests` has all records by key, `task_keys` the tasks the evaluation makes of them, and
    `requested` those of them a run was requested for when the version was first seen.
    """

    model_config = ConfigDict(frozen=True)

    digests: dict[str, str]
    task_keys: tuple[str, ...]
    requested: tuple[str, ...] = ()

    def changed_since(self, before: SeenDataSet) -> list[str]:
        """Return the keys of records that are in both versions and differ."""
        old = before.digests
        return [key for key, digest in self.digests.items() if old.get(key, digest) != digest]

    def removed_since(self, before: SeenDataSet) -> list[str]:
        """Return the keys of records that are only in the earlier version."""
        return [key for key in before.digests if key not in self.digests]


def record_digests(records: Iterable[Record]) -> dict[str, str]:
    """Return a digest of each record, whatever the order of its fields, by record key."""
    return {
        record.key: fingerprint_of({"record": record.model_dump(mode="json")}) for record in records
    }


class SeenVersions:
    """The versions that were seen, below an evaluation's run directory."""

    def __init__(self, run_directory: Path) -> None:
        self._folder = run_directory / _FOLDER

    def read(self, version: str) -> SeenDataSet | None:
        """Return a version, None if it is not there or not readable."""
        if not _VERSION.fullmatch(version):
            return None
        try:
            return SeenDataSet.model_validate_json(self._path(version).read_bytes())
        except (OSError, ValueError):
            return None

    def write(self, version: str, seen: SeenDataSet) -> None:
        """Keep a version, and forget the oldest ones. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_json(self._path(version), seen.model_dump(mode="json"))
        by_age = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for path in by_age[:-_KEPT_VERSIONS]:
            path.unlink(missing_ok=True)

    def _path(self, version: str) -> Path:
        return self._folder / f"{version}.json"
