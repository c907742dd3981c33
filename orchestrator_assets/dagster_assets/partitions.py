"""The dynamic partitions of an evaluation: one per task, in data-set order, never removed.

Dagster orders dynamic partitions by when they were added, and a range means everything between
its ends in that order. So keys are added in data-set order, and a set of tasks is launched as a
range only where nothing else lies between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster import DagsterInstance

# SQLite limits the variables of a statement; Dagster uses a few per key.
_KEYS_PER_INSERT = 5_000
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """A contiguous range of partitions, both ends included."""

    first: str
    last: str

    @property
    def tags(self) -> Mapping[str, str]:
        """The run tags by which Dagster knows the range."""
        return {RANGE_START_TAG: self.first, RANGE_END_TAG: self.last}


def partitions_name(evaluation_name: str) -> str:
    """Return the name under which an instance keeps the evaluation's partition keys."""
    return f"{evaluation_name}_tasks"


def task_partitions(evaluation_name: str) -> dg.DynamicPartitionsDefinition:
    """Return the partitions definition all partitioned assets of an evaluation share."""
    return dg.DynamicPartitionsDefinition(name=partitions_name(evaluation_name))


def register_partitions(
    instance: DagsterInstance, evaluation_name: str, keys: Iterable[str]
) -> list[str]:
    """Add the keys the instance does not know yet, in the order given, and return them."""
    name = partitions_name(evaluation_name)
    known = set(instance.get_dynamic_partitions(name))
    added = [key for key in dict.fromkeys(keys) if key not in known]
    for start in range(0, len(added), _KEYS_PER_INSERT):
        _add(instance, name, added[start : start + _KEYS_PER_INSERT])
    return added


def _add(instance: DagsterInstance, name: str, keys: Sequence[str]) -> None:
    try:
        instance.add_dynamic_partitions(name, keys)
    except Exception:
        # Dagster selects, then inserts: another process may have added some of them in between.
        known = set(instance.get_dynamic_partitions(name))
        missing = [key for key in keys if key not in known]
        if len(missing) == len(keys):
            raise
        if missing:
            instance.add_dynamic_partitions(name, missing)


def contiguous_range(
    instance: DagsterInstance, evaluation_name: str, keys: Iterable[str]
) -> PartitionRange | None:
    """Return the range that holds exactly these keys, None where other keys lie between them."""
    order = instance.get_dynamic_partitions(partitions_name(evaluation_name))
    return range_among(order, keys)


def range_among(order: Sequence[str], keys: Iterable[str]) -> PartitionRange | None:
    """Return the range of `order` that holds exactly these keys, None where there is none."""
    wanted = set(keys)
    positions = [position for position, key in enumerate(order) if key in wanted]
    if not positions or len(positions) != len(wanted):
        return None
    first, last = positions[0], positions[-1]
    if last - first + 1 != len(positions):
        return None
    return PartitionRange(order[first], order[last])
