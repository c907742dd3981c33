"""The schedule that calls every task again each night. Off until somebody turns it on."""

from __future__ import annotations

import dagster as dg

from orchestrator_assets.dagster_assets._compat import Job
from orchestrator_assets.dagster_assets.jobs import EvaluationJob
from orchestrator_assets.dagster_assets.run_requests import (
    request_job_run,
    unfinished_run,
)
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import Evaluation


def build_nightly_schedule(evaluation: Evaluation, job: Job) -> dg.ScheduleDefinition:
    """Return the schedule; `job` is the one that works on the whole data set.

    It calls again what was accepted, too: what has changed overnight is the agent, and nothing
    here would notice. The conversations of the day before stay in their archives.
    """

    @dg.schedule(
        name=f"{evaluation.name}_nightly",
        cron_schedule=evaluation.dagster.nightly_at,
        execution_timezone="UTC",
        job=job,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=f"Calls every task of {evaluation.name} again, accepted ones too.",
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        going_on = unfinished_run(context.instance, evaluation.name)
        if going_on is not None:
            return dg.SkipReason(f"run {going_on[:8]} of {evaluation.name} is going on")
        try:
            keys = [task.key for task in evaluation.load_tasks()]
        except ConfigurationError as error:
            return dg.SkipReason(f"the data set can't be used: {error}")
        return request_job_run(
            evaluation.name,
            EvaluationJob.RUN_EVALUATION,
            keys,
            context.scheduled_execution_time.isoformat(),
            settings={"force": True},
        )

    return nightly
