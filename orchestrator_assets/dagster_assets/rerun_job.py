"""The job that tries the failed tasks again, wherever they lie, in one run.

A backfill makes a run for every contiguous range of partitions. This job has no partitions: it
works on scattered ones at once. It is an op job, so that the UI launches it without asking for a
partition.
"""

# No postponed annotations here: Dagster takes the config's class from the op's signature.

import dagster as dg

from orchestrator_assets.dagster_assets.config import AttemptConfig
from orchestrator_assets.dagster_assets.keys import TaskAsset, calls_pool
from orchestrator_assets.dagster_assets.requests import Request, phases_of, tasks_for
from orchestrator_assets.dagster_assets.rerun_keys import keys_without_partitions
from orchestrator_assets.dagster_assets.settling import CreateRun, settle_tasks
from orchestrator_assets.evaluation import Evaluation


def rerun_job_name(evaluation_name: str) -> str:
    """Return the name of the evaluation's job."""
    return f"{evaluation_name}_rerun_failed"


def rerun_op_name(evaluation_name: str) -> str:
    """Return the name of the job's op, by which it is configured."""
    return f"{evaluation_name}_rerun"


def build_rerun_job(evaluation: Evaluation, create_run: CreateRun) -> dg.JobDefinition:
    """Return the job; its op works on `task_keys` if given, else on the failed partitions."""

    @dg.op(name=rerun_op_name(evaluation.name), pool=calls_pool(evaluation.name))
    def rerun(context: dg.OpExecutionContext, config: AttemptConfig) -> None:
        keys = keys_without_partitions(context.instance, evaluation.name, config.task_keys)
        phases = phases_of(frozenset(TaskAsset), force=config.force)
        request = Request(tasks_for(evaluation, keys), phases)
        settle_tasks(context, evaluation, request, create_run)

    @dg.job(
        name=rerun_job_name(evaluation.name),
        executor_def=dg.in_process_executor,
        description=(
            f"Tries the failed tasks of {evaluation.name} again in one run, wherever they lie; "
            "launch it from the launchpad, with `task_keys` for others than the failed ones."
        ),
    )
    def rerun_failed() -> None:
        rerun()

    return rerun_failed
