"""What runs an evaluation without anybody asking: sensors and a schedule."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from orchestrator_assets.dagster_assets._compat import Job
from orchestrator_assets.dagster_assets.jobs import EvaluationJob, job_name
from orchestrator_assets.dagster_assets.new_records_sensor import build_new_records_sensor
from orchestrator_assets.dagster_assets.rerun_sensor import build_rerun_sensor
from orchestrator_assets.dagster_assets.run_requests import build_range_job
from orchestrator_assets.dagster_assets.schedules import build_nightly_schedule
from orchestrator_assets.evaluation import Evaluation


def build_automation(evaluation: Evaluation, jobs: Iterable[object]) -> dg.Definitions:
    """Return the sensors and the schedule of an evaluation, and the job they need beside `jobs`."""
    by_name = {job.name: job for job in jobs if isinstance(job, Job)}

    def job(kind: EvaluationJob) -> Job:
        return by_name[job_name(evaluation.name, kind)]

    range_job = build_range_job(evaluation.name)
    run_evaluation = job(EvaluationJob.RUN_EVALUATION)
    return dg.Definitions(
        jobs=[range_job],
        sensors=[
            build_new_records_sensor(evaluation, [range_job, run_evaluation]),
            build_rerun_sensor(evaluation, [job(EvaluationJob.RERUN_FAILED)]),
        ],
        schedules=[build_nightly_schedule(evaluation, run_evaluation)],
    )
