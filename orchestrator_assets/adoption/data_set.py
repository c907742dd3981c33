"""Finds the data set of a run of EVA's, or makes one of the ids of the records it called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator_assets.adoption.eva_config import EvaConfig
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.records import Record
from orchestrator_assets.store.atomic import write_json


def find_data_set(directory: Path, config: EvaConfig, given: Path | None) -> Path | None:
    """Return the data set: the one given, else the one the run names, where it is still there.

    EVA's path is relative to its checkout, so the directories above the run are searched for it.
    """
    if given is not None:
        return given.absolute()
    named = config.dataset_path
    if named is None:
        return None
    places = [Path.cwd(), *directory.parents]
    return next((place / named for place in places if (place / named).is_file()), None)


def check_all_known(data_set: Path, records: Sequence[Record], called: Sequence[str]) -> None:
    """Raise ConfigurationError if records were called that the data set lacks."""
    known = {record.id for record in records}
    missing = [record_id for record_id in called if record_id not in known]
    if missing:
        raise ConfigurationError(
            Fault(
                data_set,
                f"record {record_id!r}",
                "was called in the run, but is not here; is this the run's data set?",
            )
            for record_id in missing
        )


def records_by_id(record_ids: Sequence[str]) -> list[Record]:
    """Return records of which nothing is known but the id."""
    return [Record(id=record_id) for record_id in record_ids]


def write_data_set(path: Path, records: Sequence[Record]) -> None:
    """Write a data set of records of which nothing is known but the id. Raises OSError."""
    write_json(path, [{"id": record.id} for record in records])
