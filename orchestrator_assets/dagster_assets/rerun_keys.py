"""Which tasks a run without partitions works on."""

from __future__ import annotations

from collections.abc import Sequence

from dagster import DagsterInstance

from orchestrator_assets.dagster_assets._compat import failed_partition_keys
from orchestrator_assets.dagster_assets.keys import task_asset_keys
from orchestrator_assets.dagster_assets.partitions import partitions_name, task_partitions


def keys_without_partitions(
    instance: DagsterInstance, evaluation_name: str, task_keys: Sequence[str] | None
) -> list[str]:
    """Return `task_keys` if given, else the partitions of which any asset failed, in order."""
    if task_keys is not None:
        return list(task_keys)
    partitions = task_partitions(evaluation_name)
    failed: set[str] = set()
    for asset_key in task_asset_keys(evaluation_name):
        failed |= failed_partition_keys(instance, asset_key, partitions)
    order = instance.get_dynamic_partitions(partitions_name(evaluation_name))
    return [key for key in order if key in failed]
