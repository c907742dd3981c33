"""Everything Dagster needs to know of one evaluation."""

from __future__ import annotations

import dagster as dg

from orchestrator_assets.dagster_assets.assets import build_task_assets
from orchestrator_assets.dagster_assets.registration import build_registration_sensor
from orchestrator_assets.dagster_assets.rerun_job import build_rerun_job
from orchestrator_assets.dagster_assets.settling import CreateRun
from orchestrator_assets.dagster_assets.summary_asset import build_summary_asset
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import EvaluationRun


def build_evaluation_definitions(
    evaluation: Evaluation, *, create_run: CreateRun = EvaluationRun
) -> dg.Definitions:
    """Return the assets, the job and the sensor of an evaluation.

    `create_run` makes the run that settles tasks: give another one to inject what calls, judges,
    scores or listens. Reads no data set and loads no speech engine.
    """
    return dg.Definitions(
        assets=[build_task_assets(evaluation, create_run), build_summary_asset(evaluation)],
        jobs=[build_rerun_job(evaluation, create_run)],
        sensors=[build_registration_sensor(evaluation)],
        # With a process per step, a killed run would leave that process calling on.
        executor=dg.in_process_executor,
    )
