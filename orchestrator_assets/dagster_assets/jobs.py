"""The jobs of an evaluation: what can be asked for without choosing partitions.

They are op jobs, so that the UI and `dagster job launch` start them without asking for a partition,
and they work on scattered tasks in one run, where a backfill makes a run for every contiguous range
of partitions. The partitions end up as they would after a range run.
"""

# No postponed annotations here: Dagster takes the config's class from the op's signature.

from enum import StrEnum

import dagster as dg

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.dagster_assets.config import (
    AttemptConfig,
    MetricsConfig,
    RerunConfig,
    RevalidationConfig,
    metric_selection_of,
    with_limits,
)
from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    calls_pool,
    evaluation_summary_key,
)
from orchestrator_assets.dagster_assets.requests import Phase, phases_of
from orchestrator_assets.dagster_assets.settling import CreateRun
from orchestrator_assets.dagster_assets.task_choice import (
    accepted_keys,
    all_keys,
    choose_tasks,
    failed_and_missing_keys,
    failed_keys,
)
from orchestrator_assets.dagster_assets.working import failing_clearly, work_on
from orchestrator_assets.evaluation import Evaluation


class EvaluationJob(StrEnum):
    """What can be done with an evaluation's tasks."""

    RUN_EVALUATION = "run_evaluation"
    RERUN_FAILED = "rerun_failed"
    REVALIDATE = "revalidate"
    RECOMPUTE_METRICS = "recompute_metrics"
    SUMMARIZE = "summarize"


# A job and its op can't have the same name.
_OPS = {
    EvaluationJob.RUN_EVALUATION: "run",
    EvaluationJob.RERUN_FAILED: "rerun",
    EvaluationJob.REVALIDATE: "revalidation",
    EvaluationJob.RECOMPUTE_METRICS: "metrics_computation",
}


def job_name(evaluation_name: str, job: EvaluationJob) -> str:
    """Return the name of an evaluation's job."""
    return f"{evaluation_name}_{job.value}"


def job_op_name(evaluation_name: str, job: EvaluationJob) -> str:
    """Return the name of the job's op, by which it is configured; the summary has none."""
    return f"{evaluation_name}_{_OPS[job]}"


def build_jobs(evaluation: Evaluation, create_run: CreateRun) -> dg.Definitions:
    """Return all jobs of an evaluation."""
    summary = dg.define_asset_job(
        job_name(evaluation.name, EvaluationJob.SUMMARIZE),
        selection=[evaluation_summary_key(evaluation.name)],
        executor_def=dg.in_process_executor,
        description=f"Writes the summaries of {evaluation.name} once more, from what is on disk.",
    )
    return dg.Definitions(
        jobs=[
            _run_evaluation(evaluation, create_run),
            _rerun_failed(evaluation, create_run),
            _revalidate(evaluation, create_run),
            _recompute_metrics(evaluation, create_run),
            summary,
        ]
    )


def _run_evaluation(evaluation: Evaluation, create_run: CreateRun) -> dg.JobDefinition:
    kind = EvaluationJob.RUN_EVALUATION

    @dg.op(name=job_op_name(evaluation.name, kind), pool=calls_pool(evaluation.name))
    def run(context: dg.OpExecutionContext, config: AttemptConfig) -> None:
        with failing_clearly(evaluation):
            limited = with_limits(evaluation, config)
            phases = phases_of(tuple(TaskAsset), force=config.force, revalidate=config.revalidate)
            chosen = choose_tasks(context.instance, evaluation, config, all_keys)
            work_on(context, limited, chosen, phases, create_run)

    return _job(
        evaluation,
        kind,
        run,
        f"Works on all tasks of {evaluation.name}'s data set as it is now, new ones included: "
        "calls where there is no accepted conversation.",
    )


def _rerun_failed(evaluation: Evaluation, create_run: CreateRun) -> dg.JobDefinition:
    kind = EvaluationJob.RERUN_FAILED

    @dg.op(name=job_op_name(evaluation.name, kind), pool=calls_pool(evaluation.name))
    def rerun(context: dg.OpExecutionContext, config: RerunConfig) -> None:
        with failing_clearly(evaluation):
            limited = with_limits(evaluation, config)
            phases = phases_of(tuple(TaskAsset), force=config.force, revalidate=config.revalidate)
            default = failed_and_missing_keys if config.include_missing else failed_keys
            chosen = choose_tasks(context.instance, evaluation, config, default)
            work_on(context, limited, chosen, phases, create_run)

    return _job(
        evaluation,
        kind,
        rerun,
        f"Tries the failed tasks of {evaluation.name} again in one run, wherever they lie; with "
        "`include_missing` also those that were never settled.",
    )


def _revalidate(evaluation: Evaluation, create_run: CreateRun) -> dg.JobDefinition:
    kind = EvaluationJob.REVALIDATE

    @dg.op(name=job_op_name(evaluation.name, kind), pool=calls_pool(evaluation.name))
    def revalidation(context: dg.OpExecutionContext, config: RevalidationConfig) -> None:
        with failing_clearly(evaluation):
            limited = with_limits(evaluation, config)
            phases = phases_of(tuple(TaskAsset), revalidate=True)
            if limited.max_attempts == 0:
                # The pass that calls would only judge once more what was just found wanting.
                phases = (Phase(AttemptMode.VALIDATE_ONLY, frozenset(TaskAsset)),)
            chosen = choose_tasks(context.instance, evaluation, config, accepted_keys)
            work_on(context, limited, chosen, phases, create_run)

    return _job(
        evaluation,
        kind,
        revalidation,
        f"Judges the accepted conversations of {evaluation.name} again, then calls where one no "
        "longer passes; with `max_attempts: 0` it calls nobody.",
    )


def _recompute_metrics(evaluation: Evaluation, create_run: CreateRun) -> dg.JobDefinition:
    kind = EvaluationJob.RECOMPUTE_METRICS
    assets = frozenset({TaskAsset.METRICS, TaskAsset.RECORD_SUMMARY})

    @dg.op(name=job_op_name(evaluation.name, kind), pool=calls_pool(evaluation.name))
    def metrics_computation(context: dg.OpExecutionContext, config: MetricsConfig) -> None:
        with failing_clearly(evaluation):
            selection = metric_selection_of(evaluation, config)
            chosen = choose_tasks(context.instance, evaluation, config, accepted_keys)
            phase = Phase(AttemptMode.METRICS_ONLY, assets, selection)
            work_on(context, evaluation, chosen, (phase,), create_run)

    return _job(
        evaluation,
        kind,
        metrics_computation,
        f"Scores the accepted conversations of {evaluation.name} again: all scores, or those that "
        "are chosen by `metric_names` and `scores`. Calls nobody.",
    )


def _job(
    evaluation: Evaluation, kind: EvaluationJob, op: dg.OpDefinition, description: str
) -> dg.JobDefinition:
    @dg.job(
        name=job_name(evaluation.name, kind),
        # With a process per step, a killed run would leave that process calling on.
        executor_def=dg.in_process_executor,
        description=description,
    )
    def job() -> None:
        op()

    return job
