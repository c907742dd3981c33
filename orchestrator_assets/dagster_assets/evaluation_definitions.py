"""Everything Dagster needs to know of one evaluation."""

from __future__ import annotations

import dagster as dg

from orchestrator_assets.dagster_assets.assets import build_task_assets
from orchestrator_assets.dagster_assets.automation import build_automation
from orchestrator_assets.dagster_assets.jobs import build_jobs
from orchestrator_assets.dagster_assets.settling import CreateRun
from orchestrator_assets.dagster_assets.summary_asset import build_summary_asset
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import EvaluationRun


def build_evaluation_definitions(
    evaluation: Evaluation,
    *,
    create_run: CreateRun = EvaluationRun,
    executor: dg.ExecutorDefinition | None = dg.in_process_executor,
) -> dg.Definitions:
    """Return the assets, jobs, sensors and the schedule of an evaluation.

    `create_run` makes the run that settles tasks: give another one to inject what calls, judges,
    scores or listens. `executor` is for runs of the assets: with a process per step, a killed run
    would leave that process calling on. None leaves it to the definitions these are merged with.
    Reads no data set and loads no speech engine.
    """
    jobs = build_jobs(evaluation, create_run)
    return dg.Definitions.merge(
        dg.Definitions(
            assets=[build_task_assets(evaluation, create_run), build_summary_asset(evaluation)],
            executor=executor,
        ),
        jobs,
        build_automation(evaluation, jobs.jobs or ()),
    )
