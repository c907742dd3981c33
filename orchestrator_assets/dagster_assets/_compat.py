"""What Dagster offers no public name for, in one place.

Found to work with Dagster 1.13.27.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
from dagster import AssetKey, DagsterEvent, DagsterInstance, DagsterRun, DagsterRunStatus
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.events import AssetMaterializationPlannedData
from dagster._core.execution.api import execute_run
from dagster._core.origin import (
    DEFAULT_DAGSTER_ENTRY_POINT,
    JobPythonOrigin,
    RepositoryPythonOrigin,
)
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

_REPOSITORY_NAME = "__repository__"


@dataclass(frozen=True, slots=True)
class CodeLocation:
    """Where a webserver loads definitions from: a module's attribute, and the location's name."""

    module_name: str
    attribute: str
    location_name: str

    def remote_job_origin(self, job_name: str) -> RemoteJobOrigin:
        """Return how a webserver knows the job."""
        target = LoadableTargetOrigin(
            executable_path=sys.executable,
            module_name=self.module_name,
            working_directory=str(Path.cwd()),
        )
        location = ManagedGrpcPythonEnvCodeLocationOrigin(target, self.location_name)
        return RemoteRepositoryOrigin(location, _REPOSITORY_NAME).get_job_origin(job_name)

    def job_code_origin(self, job_name: str) -> JobPythonOrigin:
        """Return how a process loads the job's code."""
        pointer = ModuleCodePointer(
            self.module_name, self.attribute, working_directory=str(Path.cwd())
        )
        repository = RepositoryPythonOrigin(
            sys.executable, pointer, entry_point=DEFAULT_DAGSTER_ENTRY_POINT
        )
        return JobPythonOrigin(job_name, repository)


def failed_partition_keys(
    instance: DagsterInstance, asset_key: AssetKey, partitions: dg.PartitionsDefinition[str]
) -> set[str]:
    """Return the partitions of an asset whose latest run failed to materialise them."""
    status = get_and_update_asset_status_cache_value(instance, asset_key, partitions)
    if status is None:
        return set()
    return set(status.deserialize_failed_partition_subsets(partitions).get_partition_keys())


def report_canceling(instance: DagsterInstance, run_id: str) -> None:
    """Make a run that was interrupted end as cancelled, as if the UI had asked for it."""
    run = instance.get_run_by_id(run_id)
    if run is not None and run.status is DagsterRunStatus.STARTED:
        instance.report_run_canceling(run, "The process was interrupted.")


def plan_failed_partitions(
    context: dg.OpExecutionContext, asset_keys: Sequence[AssetKey], partition_keys: Iterable[str]
) -> None:
    """Say that a run without partition tags meant to materialise these partitions."""
    step_key = context.get_step_execution_context().step.key
    for partition_key in partition_keys:
        for asset_key in asset_keys:
            event = DagsterEvent.build_asset_materialization_planned_event(
                context.job_name,
                step_key,
                AssetMaterializationPlannedData(
                    asset_key, partition=partition_key, partitions_subset=None
                ),
            )
            context.instance.report_dagster_event(event, context.run_id, logging.DEBUG)


def create_run(
    instance: DagsterInstance,
    job: dg.JobDefinition,
    *,
    origin: CodeLocation,
    asset_keys: Iterable[AssetKey] = (),
    tags: Mapping[str, str] | None = None,
    run_config: Mapping[str, Any] | None = None,
) -> DagsterRun:
    """Create a run as the webserver of a code location would, so that it looks and reruns the same.

    Without the two origins the UI shows the run, but can't tell whose it is or execute it again.
    """
    return instance.create_run_for_job(
        job,
        asset_selection=set(asset_keys) or None,
        tags=tags,
        run_config=run_config,
        remote_job_origin=origin.remote_job_origin(job.name),
        job_code_origin=origin.job_code_origin(job.name),
    )


def execute_created_run(instance: DagsterInstance, job: dg.JobDefinition, run: DagsterRun) -> None:
    """Execute a run in this process. Its events and its end are recorded by the instance."""
    execute_run(InMemoryJob(job), run, instance)
