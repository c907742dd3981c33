"""The sensor that keeps partitions up with the data set, and has new records called.

The first tick only registers what is there: opening the UI must not place calls. From then on,
tasks that come with a change of the data set get a partition and one run. Nothing is ever deleted
unless the evaluation says so: a record that is taken out keeps its partition and its history.

The cursor is a hash of what was read, never a time, and a count of the changes so far. It moves
only once everything has been requested, and run keys are made of it: a tick that is repeated, or
made by two daemons at once, asks for the same run again, and Dagster starts it once. The count
keeps run keys from coming back, for a run that failed to launch would be taken for done for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dagster as dg

from orchestrator_assets.dagster_assets._compat import Job
from orchestrator_assets.dagster_assets.partitions import partitions_name, task_partitions
from orchestrator_assets.dagster_assets.run_requests import (
    request_run,
    shown_keys,
    stable_hash,
    unfinished_run,
)
from orchestrator_assets.dagster_assets.seen_records import (
    SeenDataSet,
    SeenVersions,
    record_digests,
)
from orchestrator_assets.data_source import read_source, shown_source, source_name
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.records import parse_records, tasks_of
from orchestrator_assets.store.run_directory import RunDirectory

_INTERVAL_SECONDS = 30
_KEYS_PER_REQUEST = 1_000
_TASKS_PER_RUN = 500
"""Dagster writes an event per partition and asset before a run starts; more of them time out."""

_PartitionRequest = dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest


def build_new_records_sensor(evaluation: Evaluation, jobs: Sequence[Job]) -> dg.SensorDefinition:
    """Return the sensor; `jobs` are those it requests runs of."""

    @dg.sensor(
        name=f"{evaluation.name}_new_records",
        minimum_interval_seconds=_INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        jobs=jobs,
        description=(
            f"Watches {source_name(evaluation.data_set)}: adds a partition for every task, and "
            "has records that are added later called in one run. Deletes nothing, unless "
            "dagster.drop_retired_partitions is set."
        ),
    )
    def new_records(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        cursor = _Cursor.read(context.cursor)
        try:
            reading = _read(evaluation, cursor)
        except ConfigurationError as error:
            return dg.SkipReason(f"nothing is done until the data set can be used: {error}")
        if reading is None:
            return dg.SkipReason(f"{shown_source(evaluation.data_set)} has not changed")
        return _Tick(evaluation, context, cursor, reading).result()

    return new_records


@dataclass(frozen=True, slots=True)
class _Cursor:
    """How many changes were seen, and the version that was seen last, if any."""

    count: int = 0
    version: str = ""

    @classmethod
    def read(cls, text: str | None) -> _Cursor:
        count, _, version = (text or "").partition(":")
        return cls(int(count), version) if count.isdecimal() and version else cls()

    def after(self, version: str) -> _Cursor:
        return _Cursor(self.count + 1, version)

    def __str__(self) -> str:
        return f"{self.count}:{self.version}"


@dataclass(frozen=True, slots=True)
class _Reading:
    """A data set as it was read; its version counts what the evaluation takes of it, too."""

    version: str
    digests: dict[str, str]
    task_keys: tuple[str, ...]
    keys_in_data_set: frozenset[str]


def _read(evaluation: Evaluation, cursor: _Cursor) -> _Reading | None:
    """Return the data set, None if it is at the cursor's version. Raises ConfigurationError."""
    content = read_source(evaluation.data_set)
    version = stable_hash(
        content.sha256,
        evaluation.num_trials,
        evaluation.record_ids,
        evaluation.debug,
        evaluation.dagster.drop_retired_partitions,
    )
    if version == cursor.version:
        return None
    records = parse_records(evaluation.data_set, content)
    return _Reading(
        version,
        record_digests(records),
        tuple(task.key for task in evaluation.tasks_among(records)),
        frozenset(task.key for task in tasks_of(records, evaluation.num_trials)),
    )


class _Tick:
    """One change of the data set: what is new in it, and what is asked for."""

    def __init__(
        self,
        evaluation: Evaluation,
        context: dg.SensorEvaluationContext,
        cursor: _Cursor,
        reading: _Reading,
    ) -> None:
        self._evaluation = evaluation
        self._context = context
        self._reading = reading
        self._after = cursor.after(reading.version)
        self._versions = SeenVersions(evaluation.run_directory)
        self._before = self._versions.read(cursor.version)
        self._is_first = not cursor.version
        name = partitions_name(evaluation.name)
        self._registered = list(context.instance.get_dynamic_partitions(name))

    def result(self) -> dg.SensorResult:
        registered = set(self._registered)
        added = [key for key in self._reading.task_keys if key not in registered]
        retired = [key for key in self._registered if key not in self._reading.keys_in_data_set]
        wanted = self._wanted()
        seen = SeenDataSet(
            digests=self._reading.digests,
            task_keys=self._reading.task_keys,
            requested=tuple(wanted),
        )
        report = "; ".join(self._report(seen, added, retired, wanted))
        self._context.log.info(report)
        self._versions.write(self._reading.version, seen)
        return dg.SensorResult(
            run_requests=self._runs(wanted, [*self._registered, *added]),
            skip_reason=None if wanted else dg.SkipReason(report),
            dynamic_partitions_requests=self._partition_requests(added, retired),
            cursor=str(self._after),
        )

    def _wanted(self) -> list[str]:
        """Return the tasks to call: those that are new, and those a lost run was asked for."""
        if self._is_first:
            return []
        if self._before is None:
            known = set(self._registered)
            return [key for key in self._reading.task_keys if key not in known]
        known = set(self._before.task_keys) - self._lost(self._before)
        return [key for key in self._reading.task_keys if key not in known]

    def _lost(self, before: SeenDataSet) -> set[str]:
        if unfinished_run(self._context.instance, self._evaluation.name) is not None:
            return set()
        started = RunDirectory(self._evaluation.run_directory).journal_names()
        return {key for key in before.requested if f"{key}.jsonl" not in started}

    def _runs(self, wanted: Sequence[str], order: Sequence[str]) -> list[dg.RunRequest]:
        name = self._evaluation.name
        return [
            request_run(name, order, keys, f"{name}:{self._after}:{stable_hash(keys)}")
            for keys in _chunks(wanted, _TASKS_PER_RUN)
        ]

    def _partition_requests(
        self, added: Sequence[str], retired: Sequence[str]
    ) -> list[_PartitionRequest]:
        partitions = task_partitions(self._evaluation.name)
        requests: list[_PartitionRequest] = [
            partitions.build_add_request(keys) for keys in _chunks(added, _KEYS_PER_REQUEST)
        ]
        if self._evaluation.dagster.drop_retired_partitions:
            requests += [
                partitions.build_delete_request(keys)
                for keys in _chunks(retired, _KEYS_PER_REQUEST)
            ]
        return requests

    def _report(
        self,
        seen: SeenDataSet,
        added: Sequence[str],
        retired: Sequence[str],
        wanted: Sequence[str],
    ) -> Iterator[str]:
        yield f"{len(seen.task_keys)} tasks in {shown_source(self._evaluation.data_set)}"
        yield f"{len(added)} registered"
        if self._is_first:
            yield "first look, so nobody is called: launch a run of what is there yourself"
        if wanted:
            yield f"{len(wanted)} to be called: {shown_keys(wanted)}"
        if self._before is not None:
            changed, removed = seen.changed_since(self._before), seen.removed_since(self._before)
            if changed:
                yield f"changed, to be called again by the next run: {shown_keys(changed)}"
            if removed:
                yield f"removed: {shown_keys(removed)}"
        if retired:
            dropped = self._evaluation.dagster.drop_retired_partitions
            fate = "dropped" if dropped else "kept"
            yield f"partitions without a record are {fate}: {shown_keys(retired)}"


def _chunks(keys: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(keys), size):
        yield list(keys[start : start + size])
