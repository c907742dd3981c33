"""Finds the conversations and archives in a run directory of EVA's.

EVA has written them as `records/<id>`, with trials as `records/<id>/trial_<n>` and, until 2.0, as
`records/<id>_trial_<n>`; an archive is any of these with `_failed_attempt_<n>` after it. Ids are
not encoded, so one of the data set's own wins over what its name could also mean.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator_assets.errors import ConfigurationError, Fault

RECORDS_DIRECTORY = "records"
_ARCHIVE = re.compile(r"(?P<name>.+)_failed_attempt_(?P<number>\d+)", re.DOTALL)
_LEGACY_TRIAL = re.compile(r"(?P<id>.+)_trial_(?P<trial>\d+)", re.DOTALL)
_TRIAL = re.compile(r"trial_(?P<trial>\d+)")
# Directories of these names EVA skips too.
_SET_ASIDE = re.compile(r".+_(?:attempt|extra|unvalidated)_\d+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EvaConversation:
    """A directory that holds one call. `archive` is the number EVA archived it under, if it did."""

    record_id: str
    trial: int | None
    archive: int | None
    directory: Path


@dataclass(frozen=True, slots=True)
class EvaRun:
    """What lies in a run directory. `left_out` are directories that are no conversations."""

    directory: Path
    conversations: tuple[EvaConversation, ...]
    left_out: tuple[Path, ...]

    @property
    def record_ids(self) -> list[str]:
        """The records that were called, in the order of their directories."""
        return list(dict.fromkeys(found.record_id for found in self.conversations))

    @property
    def num_trials(self) -> int:
        """The trials that were called of some record; 1 without trials."""
        trials = [found.trial for found in self.conversations if found.trial is not None]
        return max(trials, default=0) + 1


def find_conversations(directory: Path, known_ids: Collection[str] = ()) -> EvaRun:
    """Look through a run directory. `known_ids` are those of its data set, as far as it is known.

    Raises ConfigurationError if it has no records, or if one was called with trials and without.
    """
    records = directory / RECORDS_DIRECTORY
    if not records.is_dir():
        message = f"is not a run directory of EVA's: it has no {RECORDS_DIRECTORY} in it"
        raise ConfigurationError([Fault(directory, "", message)])
    found: list[EvaConversation] = []
    left_out: list[Path] = []
    for entry in _record_directories(records, known_ids):
        conversations = list(_conversations(entry, records, known_ids))
        found.extend(conversations)
        if not conversations:
            left_out.append(entry)
    if not found:
        raise ConfigurationError([Fault(records, "", "holds no conversation to adopt")])
    _check_trials(records, found)
    return EvaRun(directory, tuple(found), tuple(left_out))


def _record_directories(records: Path, known_ids: Collection[str]) -> Iterator[Path]:
    yield from sorted(entry for entry in records.iterdir() if entry.is_dir())
    for record_id in known_ids:
        # EVA takes an id with a slash for a path, and finds such a record no more.
        if "/" in record_id and ".." not in record_id:
            nested = records / record_id
            if nested.is_dir() and nested.is_relative_to(records):
                yield nested


def _conversations(
    entry: Path, records: Path, known_ids: Collection[str]
) -> Iterator[EvaConversation]:
    name = entry.relative_to(records).as_posix()
    if name in known_ids:
        yield from _of_record(entry, name, None, None)
    elif archived := _ARCHIVE.fullmatch(name):
        record_id, trial = _record_and_trial(archived["name"], known_ids)
        yield from _of_record(entry, record_id, trial, int(archived["number"]))
    elif not _SET_ASIDE.fullmatch(name):
        record_id, trial = _record_and_trial(name, known_ids)
        yield from _of_record(entry, record_id, trial, None)


def _record_and_trial(name: str, known_ids: Collection[str]) -> tuple[str, int | None]:
    trial = _LEGACY_TRIAL.fullmatch(name)
    if name in known_ids or trial is None:
        return name, None
    return trial["id"], int(trial["trial"])


def _of_record(
    directory: Path, record_id: str, trial: int | None, archive: int | None
) -> Iterator[EvaConversation]:
    entries = sorted(directory.iterdir())
    nested = False
    for entry in entries:
        archived = _ARCHIVE.fullmatch(entry.name)
        trial_name = archived["name"] if archived else entry.name
        if entry.is_dir() and (match := _TRIAL.fullmatch(trial_name)) and any(entry.iterdir()):
            nested = True
            number = int(archived["number"]) if archived else archive
            yield EvaConversation(record_id, int(match["trial"]), number, entry)
    if not nested and any(entry.is_file() for entry in entries):
        yield EvaConversation(record_id, trial, archive, directory)


def _check_trials(records: Path, found: list[EvaConversation]) -> None:
    kinds: dict[str, set[bool]] = {}
    for conversation in found:
        kinds.setdefault(conversation.record_id, set()).add(conversation.trial is not None)
    some_trials = any(True in kind for kind in kinds.values())
    faults = [
        Fault(
            records / record_id,
            f"record {record_id!r}",
            "was called without trials, but the run has trials; move one of the two kinds away",
        )
        for record_id, kind in kinds.items()
        if some_trials and False in kind
    ]
    if faults:
        raise ConfigurationError(faults)
