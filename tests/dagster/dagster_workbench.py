"""Runs an evaluation's definitions on an instance, and reads back what Dagster makes of it."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg
from dagster import AssetKey, DagsterEventType, DagsterInstance
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value

from orchestrator_assets.dagster_assets import build_evaluation_definitions
from orchestrator_assets.dagster_assets.jobs import EvaluationJob, job_name, job_op_name
from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    attempts_op_name,
    task_asset_key,
    task_asset_keys,
)
from orchestrator_assets.dagster_assets.launch import register_evaluation
from orchestrator_assets.dagster_assets.partitions import (
    PartitionRange,
    contiguous_range,
    task_partitions,
)
from orchestrator_assets.dagster_assets.settling import CreateRun
from orchestrator_assets.evaluation import Evaluation

Config = dict[str, object]


class Workbench:
    def __init__(
        self,
        instance: DagsterInstance,
        evaluation: Evaluation,
        create_run: CreateRun,
        *,
        registered: bool = True,
    ) -> None:
        self.instance = instance
        self.evaluation = evaluation
        self.name = evaluation.name
        self.definitions = build_evaluation_definitions(evaluation, create_run=create_run)
        if registered:
            register_evaluation(instance, evaluation)

    def materialize(
        self,
        *,
        assets: Sequence[TaskAsset] = tuple(TaskAsset),
        partitions: PartitionRange | None = None,
        untagged: bool = False,
        config: Config | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Materialise assets as the UI would: for a range of tasks, all of them by default."""
        if partitions is None:
            keys = [task.key for task in self.evaluation.load_tasks()]
            partitions = contiguous_range(self.instance, self.name, keys)
            assert partitions is not None
        job = self.definitions.resolve_implicit_global_asset_job_def()
        return job.execute_in_process(
            instance=self.instance,
            asset_selection=[task_asset_key(self.name, asset) for asset in assets],
            tags={} if untagged else dict(partitions.tags),
            run_config={"ops": {attempts_op_name(self.name): {"config": config or {}}}},
            raise_on_error=False,
        )

    def rerun_failed(self, config: Config | None = None) -> dg.ExecuteInProcessResult:
        """Run the job that works on the failed partitions."""
        return self.run_job(EvaluationJob.RERUN_FAILED, config)

    def run_job(
        self, job: EvaluationJob, config: Config | None = None
    ) -> dg.ExecuteInProcessResult:
        """Run a job that has no partitions."""
        ops = {} if config is None else {job_op_name(self.name, job): {"config": config}}
        return self.definitions.resolve_job_def(job_name(self.name, job)).execute_in_process(
            instance=self.instance, run_config={"ops": ops}, raise_on_error=False
        )

    def materialized(self, asset: TaskAsset) -> list[str]:
        return self._partitions(asset)[0]

    def failed(self, asset: TaskAsset) -> list[str]:
        return self._partitions(asset)[1]

    def _partitions(self, asset: TaskAsset) -> tuple[list[str], list[str]]:
        partitions = task_partitions(self.name)
        key = task_asset_key(self.name, asset)
        status = get_and_update_asset_status_cache_value(self.instance, key, partitions)
        if status is None:
            return [], []
        materialized = status.deserialize_materialized_partition_subsets(partitions)
        failed = status.deserialize_failed_partition_subsets(partitions)
        return sorted(materialized.get_partition_keys()), sorted(failed.get_partition_keys())

    def statuses(self) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return (materialised, failed) partitions; one entry where all assets agree."""
        return {(tuple(self.materialized(asset)), tuple(self.failed(asset))) for asset in TaskAsset}

    def latest(self, key: AssetKey, partition: str | None = None) -> dg.AssetMaterialization:
        """Return the latest materialisation of an asset, or of a partition of it."""
        records = self.instance.fetch_materializations(
            dg.AssetRecordsFilter(
                asset_key=key, asset_partitions=None if partition is None else [partition]
            ),
            limit=1,
        ).records
        materialization = records[0].asset_materialization
        assert materialization is not None
        return materialization

    def failure_message(self, run_id: str) -> str:
        """Return why the step of a run failed."""
        (entry,) = self.instance.all_logs(run_id, of_type=DagsterEventType.STEP_FAILURE)
        assert entry.dagster_event is not None
        error = entry.dagster_event.step_failure_data.error
        assert error is not None
        return error.message

    def all_keys(self) -> set[AssetKey]:
        return set(task_asset_keys(self.name))
