"""The whole demo on a real instance: real calls, real speech, the planted failure and all."""

from __future__ import annotations

from pathlib import Path

from dagster import DagsterInstance
from dagster_workbench import Workbench

from orchestrator_assets.dagster_assets.keys import TaskAsset, evaluation_summary_key
from orchestrator_assets.demo import EVALUATION_FILE
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun, failed_tasks


def test_the_demo_accepts_eleven_tasks_and_fails_one(
    instance: DagsterInstance, tmp_path: Path
) -> None:
    evaluation = load_evaluation(EVALUATION_FILE).model_copy(
        update={"output_dir": tmp_path / "runs"}
    )
    keys = [task.key for task in evaluation.load_tasks()]
    workbench = Workbench(instance, evaluation, EvaluationRun)

    result = workbench.materialize()

    assert not result.success
    (failed,) = failed_tasks(evaluation)
    accepted = sorted(key for key in keys if key != failed.key)
    assert len(accepted) == 11
    for asset in TaskAsset:
        assert workbench.materialized(asset) == accepted
        assert workbench.failed(asset) == [failed.key]
    metadata = workbench.latest(evaluation_summary_key(evaluation.name)).metadata
    assert metadata["tasks"].value == 12
    assert metadata["accepted"].value == 11
    assert metadata["failed"].value == 1
