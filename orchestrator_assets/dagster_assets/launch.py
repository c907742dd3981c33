"""Executes tasks of an evaluation as one Dagster run, in this process.

The run is created with the origin of the code location, so that the webserver shows it as one of
its own and can execute it again. It is executed here, and not by a code server, so that whoever
launched it can listen to it and stop it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import dagster as dg
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

from orchestrator_assets.dagster_assets._compat import (
    CodeLocation,
    create_run,
    execute_created_run,
)
from orchestrator_assets.dagster_assets.jobs import EvaluationJob, job_name, job_op_name
from orchestrator_assets.dagster_assets.keys import attempts_op_name, task_asset_keys
from orchestrator_assets.dagster_assets.partitions import (
    contiguous_range,
    register_partitions,
)
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.records import Task

CODE_LOCATION = CodeLocation(
    "orchestrator_assets.definitions", "definitions", "orchestrator_assets"
)
_STATUS_POLL_SECONDS = 2.0


class RunFailure(NamedTuple):
    """Why a run failed. `on_purpose`: by dagster.Failure, as where tasks were not accepted."""

    message: str
    on_purpose: bool


class Launcher:
    """Launches the runs of one evaluation on an instance."""

    def __init__(
        self, instance: DagsterInstance, evaluation: Evaluation, definitions: dg.Definitions
    ) -> None:
        self._instance = instance
        self._evaluation = evaluation
        self._definitions = definitions

    def create_run(
        self,
        tasks: Sequence[Task],
        *,
        force: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> DagsterRun:
        """Create a run of all partitioned assets for `tasks`, after registering every task.

        It is a range run where the tasks lie side by side among the partitions, else a rerun.
        `settings` are further fields of the run's configuration (see `AttemptConfig`).
        """
        name = self._evaluation.name
        register_evaluation(self._instance, self._evaluation)
        partition_range = contiguous_range(self._instance, name, [task.key for task in tasks])
        if partition_range is None:
            return self.create_rerun(tasks, force=force, settings=settings)
        config = _config(force, settings)
        return create_run(
            self._instance,
            self._definitions.resolve_implicit_global_asset_job_def(),
            origin=CODE_LOCATION,
            asset_keys=task_asset_keys(name),
            tags=partition_range.tags,
            run_config={"ops": {attempts_op_name(name): {"config": config}}} if config else {},
        )

    def create_rerun(
        self,
        tasks: Sequence[Task],
        *,
        force: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> DagsterRun:
        """Create a run without partitions that works on `tasks`, wherever they lie."""
        config = _config(force, settings)
        return self.create_job_run(EvaluationJob.RERUN_FAILED, tasks, settings=config)

    def create_job_run(
        self,
        job: EvaluationJob,
        tasks: Sequence[Task],
        *,
        settings: Mapping[str, object] | None = None,
    ) -> DagsterRun:
        """Create a run of a job that works on `tasks`, after registering every task.

        `settings` are further fields of the job's configuration.
        """
        name = self._evaluation.name
        register_evaluation(self._instance, self._evaluation)
        config = {"task_keys": [task.key for task in tasks], **(settings or {})}
        run_config = {"ops": {job_op_name(name, job): {"config": config}}}
        return self._create(job, run_config)

    def create_summary_run(self) -> DagsterRun:
        """Create a run that writes the summaries once more, and does nothing else."""
        return self._create(EvaluationJob.SUMMARIZE, {})

    def _create(self, job: EvaluationJob, run_config: Mapping[str, object]) -> DagsterRun:
        return create_run(
            self._instance,
            self._definitions.resolve_job_def(job_name(self._evaluation.name, job)),
            origin=CODE_LOCATION,
            run_config=run_config,
        )

    def execute(self, run: DagsterRun) -> DagsterRunStatus:
        """Execute a run in this process and return how it ended.

        SIGINT and SIGTERM end it as cancelled, and so does cancelling it in the UI: calls are hung
        up and the summaries written before this returns.
        """
        job = (
            self._definitions.resolve_implicit_global_asset_job_def()
            if run.asset_selection
            else self._definitions.resolve_job_def(run.job_name)
        )
        try:
            with _stopping_when_canceled(self._instance, run.run_id):
                execute_created_run(self._instance, job, run)
        finally:
            ended = self._end_of(run)
        return ended

    def failure(self, run_id: str) -> RunFailure | None:
        """Return why the run's step failed, None if it did not."""
        failures = self._instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
        for entry in failures:
            if entry.dagster_event is not None:
                failed = entry.dagster_event.step_failure_data
                if failed.error is None:
                    return None
                on_purpose = failed.user_failure_data is not None
                return RunFailure(failed.error.message.strip(), on_purpose=on_purpose)
        return None

    def _end_of(self, run: DagsterRun) -> DagsterRunStatus:
        current = self._instance.get_run_by_id(run.run_id) or run
        if not current.is_finished:
            # The interrupt came before Dagster was ready for one.
            self._instance.report_run_canceled(current)
            return DagsterRunStatus.CANCELED
        return current.status


def _config(force: bool, settings: Mapping[str, object] | None) -> dict[str, object]:
    return {**(settings or {}), **({"force": True} if force else {})}


def register_evaluation(instance: DagsterInstance, evaluation: Evaluation) -> list[str]:
    """Register all tasks of an evaluation as partitions; return the keys that were new."""
    keys = [task.key for task in evaluation.load_tasks()]
    return register_partitions(instance, evaluation.name, keys)


@contextmanager
def _stopping_when_canceled(instance: DagsterInstance, run_id: str) -> Iterator[None]:
    """Interrupt the main thread when the run is marked as cancelled from elsewhere.

    The UI can only mark a run that no code server has launched; this is what makes it stop.
    """
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_STATUS_POLL_SECONDS):
            run = instance.get_run_by_id(run_id)
            if run is None or run.status is DagsterRunStatus.CANCELED:
                main_thread = threading.main_thread().ident
                if main_thread is not None and not over.is_set():
                    signal.pthread_kill(main_thread, signal.SIGINT)
                return

    watcher = threading.Thread(target=watch, name="run-status", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
