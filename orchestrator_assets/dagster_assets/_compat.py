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
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.definitions.unresolved_asset_job_definition import (
    UnresolvedAssetJobDefinition,
)
from dagster._core.events import (
    AssetMaterializationPlannedData,
    DagsterEventBatchMetadata,
    DagsterEventType,
    generate_event_batch_id,
)
from dagster._core.execution.api import execute_run
from dagster._core.execution.context.system import StepExecutionContext
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

from orchestrator_assets.dagster_assets.sqlite_storage import KeptSqliteEventLogStorage

_REPOSITORY_NAME = "__repository__"

Job = dg.JobDefinition | UnresolvedAssetJobDefinition
"""What `define_asset_job` returns is a job too."""


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
    planned = [
        DagsterEvent.build_asset_materialization_planned_event(
            context.job_name,
            step_key,
            AssetMaterializationPlannedData(
                asset_key, partition=partition_key, partitions_subset=None
            ),
        )
        for partition_key in partition_keys
        for asset_key in asset_keys
    ]
    for event, batch in zip(planned, _batch_of(len(planned)), strict=True):
        context.instance.report_dagster_event(
            event, context.run_id, logging.DEBUG, batch_metadata=batch
        )


def log_events(
    context: dg.OpExecutionContext,
    events: Sequence[dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation],
) -> None:
    """Log what belongs together, as `context.log_event` would one by one.

    Storage that takes batches gets them in one, which costs a fraction; others could not tell the
    assets of a batch apart.
    """
    storage = context.instance.event_log_storage
    if not (isinstance(storage, KeptSqliteEventLogStorage) and storage.takes_batches):
        for event in events:
            # It takes checks as well, its annotation notwithstanding.
            context.log_event(event)  # type: ignore[arg-type]
        return
    step_context = context.get_step_execution_context()
    for event, batch in zip(events, _batch_of(len(events)), strict=True):
        context._events.append(_step_event(step_context, event, batch))


def _batch_of(size: int) -> list[DagsterEventBatchMetadata]:
    batch_id: str = generate_event_batch_id()  # type: ignore[no-untyped-call]
    return [DagsterEventBatchMetadata(batch_id, number == size) for number in range(1, size + 1)]


def log_check_evaluations(
    context: dg.OpExecutionContext, evaluations: Sequence[dg.AssetCheckEvaluation]
) -> None:
    """Log answers of checks, each on what was materialised last of its asset and partition.

    Without that, Dagster takes an answer for one on an earlier materialisation, and shows none.
    """
    targets: dict[tuple[AssetKey, str | None], AssetCheckEvaluationTargetMaterializationData] = {}
    for asset_key, partition in {(each.asset_key, each.partition) for each in evaluations}:
        partitions = None if partition is None else [partition]
        records = dg.AssetRecordsFilter(asset_key=asset_key, asset_partitions=partitions)
        for record in context.instance.fetch_materializations(records, limit=1).records:
            targets[asset_key, partition] = AssetCheckEvaluationTargetMaterializationData(
                storage_id=record.storage_id, run_id=record.run_id, timestamp=record.timestamp
            )
    log_events(
        context,
        [_targeting(each, targets.get((each.asset_key, each.partition))) for each in evaluations],
    )


def _targeting(
    evaluation: dg.AssetCheckEvaluation,
    target: AssetCheckEvaluationTargetMaterializationData | None,
) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=evaluation.asset_key,
        check_name=evaluation.check_name,
        passed=evaluation.passed,
        metadata=evaluation.metadata,
        target_materialization_data=target,
        severity=evaluation.severity,
        description=evaluation.description,
        blocking=evaluation.blocking,
        partition=evaluation.partition,
    )


def _step_event(
    step_context: StepExecutionContext,
    event: dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation,
    batch: DagsterEventBatchMetadata,
) -> DagsterEvent:
    if isinstance(event, dg.AssetMaterialization):
        return DagsterEvent.asset_materialization(step_context, event, batch)
    if isinstance(event, dg.AssetObservation):
        return DagsterEvent.asset_observation(step_context, event, batch)
    verdict = "passed" if event.passed else "did not pass"
    return DagsterEvent.from_step(
        DagsterEventType.ASSET_CHECK_EVALUATION,
        step_context,
        event,
        f"Asset check '{event.check_name}' on '{event.asset_key.to_user_string()}' {verdict}.",
        batch,
    )


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
