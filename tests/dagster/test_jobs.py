"""The jobs of an evaluation: launched without a partition, and the partitions they leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dagster import DagsterInstance
from dagster_workbench import Config, Workbench
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.dagster_assets.instance import HOME_VARIABLE, prepare_dagster_home
from orchestrator_assets.dagster_assets.jobs import EvaluationJob, job_name, job_op_name
from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    evaluation_summary_key,
    task_asset_key,
)
from orchestrator_assets.dagster_assets.partitions import partitions_name
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_files import EVALUATIONS_VARIABLE

ALL = tuple(f"record_{number}" for number in range(5))
BUT_SECOND = tuple(key for key in ALL if key != "record_1")
LAUNCH_LIMIT_SECONDS = 120


def clear(calls: FakeCalls) -> None:
    for done in (calls.placed, calls.judged, calls.scored):
        done.clear()


@pytest.fixture
def fresh(instance: DagsterInstance, evaluation: Evaluation, calls: FakeCalls) -> Workbench:
    """A workbench whose evaluation no run and no sensor has registered."""
    return Workbench(instance, evaluation, calls.create_run, registered=False)


def test_run_evaluation_registers_and_settles_the_data_set_as_it_is_now(
    fresh: Workbench, calls: FakeCalls, tmp_path: Path
) -> None:
    calls.plans = {"record_1": [Attempt.CUT_OFF]}

    result = fresh.run_job(EvaluationJob.RUN_EVALUATION)

    assert not result.success
    assert fresh.statuses() == {(BUT_SECOND, ("record_1",))}
    assert list(fresh.instance.get_dynamic_partitions(partitions_name("trial_run"))) == list(ALL)

    calls.plans = {}
    clear(calls)
    write_evaluation(tmp_path / "evaluation", [*ALL, "new"])
    assert fresh.run_job(EvaluationJob.RUN_EVALUATION).success
    assert {task_id for task_id, _ in calls.placed} == {"record_1", "new"}
    assert fresh.statuses() == {(("new", *ALL), ())}


def test_a_rerun_can_take_the_missing_ones_along(
    workbench: Workbench, calls: FakeCalls, tmp_path: Path
) -> None:
    calls.plans = {"record_1": [Attempt.CUT_OFF]}
    workbench.materialize()
    calls.plans = {}
    clear(calls)
    write_evaluation(tmp_path / "evaluation", [*ALL, "new"])

    assert workbench.rerun_failed().success
    assert {task_id for task_id, _ in calls.placed} == {"record_1"}
    assert workbench.rerun_failed({"include_missing": True}).success
    assert {task_id for task_id, _ in calls.placed} == {"record_1", "new"}
    assert workbench.statuses() == {(("new", *ALL), ())}

    result = workbench.rerun_failed({"include_missing": True})
    assert "no task has failed, none is missing" in workbench.failure_message(result.run_id)


def test_revalidation_works_on_accepted_conversations_and_no_other(
    workbench: Workbench, calls: FakeCalls
) -> None:
    workbench.run_job(EvaluationJob.RUN_EVALUATION, {"task_keys": ["record_0", "record_1"]})
    clear(calls)
    calls.plans = {"record_1": [Attempt.MISSPOKEN, Attempt.GOOD]}

    assert workbench.run_job(EvaluationJob.REVALIDATE).success

    assert calls.placed == [("record_1", 2)]
    assert sorted(calls.judged) == ["record_0", "record_1", "record_1"]
    assert workbench.statuses() == {(("record_0", "record_1"), ())}


def test_revalidation_without_attempts_fails_what_no_longer_passes_and_calls_nobody(
    workbench: Workbench, calls: FakeCalls
) -> None:
    workbench.materialize()
    clear(calls)
    calls.plans = {"record_1": [Attempt.MISSPOKEN]}

    result = workbench.run_job(EvaluationJob.REVALIDATE, {"max_attempts": 0})

    assert not result.success
    assert calls.placed == []
    assert {workbench.failed(asset)[0] for asset in TaskAsset} == {"record_1"}


def test_metrics_are_recomputed_for_accepted_conversations_and_no_other(
    workbench: Workbench, calls: FakeCalls
) -> None:
    calls.plans = {"record_1": [Attempt.CUT_OFF]}
    workbench.materialize()
    clear(calls)

    result = workbench.run_job(EvaluationJob.RECOMPUTE_METRICS)

    assert result.success
    assert (calls.placed, calls.judged, sorted(calls.scored)) == ([], [], list(BUT_SECOND))
    assert workbench.statuses() == {(BUT_SECOND, ("record_1",))}
    materialised = {
        (event.asset_key, event.partition) for event in result.get_asset_materialization_events()
    }
    assert materialised == {
        (task_asset_key("trial_run", asset), key)
        for asset in (TaskAsset.METRICS, TaskAsset.RECORD_SUMMARY)
        for key in BUT_SECOND
    } | {(evaluation_summary_key("trial_run"), None)}


def test_the_summary_is_a_job_too(workbench: Workbench) -> None:
    workbench.materialize()

    result = workbench.run_job(EvaluationJob.SUMMARIZE)

    (event,) = result.get_asset_materialization_events()
    assert event.asset_key == evaluation_summary_key("trial_run")


@pytest.mark.parametrize("job", [EvaluationJob.REVALIDATE, EvaluationJob.RECOMPUTE_METRICS])
def test_there_is_nothing_to_judge_or_score_before_something_is_accepted(
    workbench: Workbench, job: EvaluationJob
) -> None:
    result = workbench.run_job(job)

    assert "no conversation has been accepted" in workbench.failure_message(result.run_id)


def test_no_job_asks_for_a_partition_and_calling_jobs_share_the_evaluations_pool(
    workbench: Workbench,
) -> None:
    for kind in EvaluationJob:
        job = workbench.definitions.resolve_job_def(job_name("trial_run", kind))
        assert job.partitions_def is None
        assert job.description
        if kind is not EvaluationJob.SUMMARIZE:
            (node,) = job.nodes
            assert node.definition.pool == "trial_run_calls"
            assert node.name == job_op_name("trial_run", kind)


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (EvaluationJob.RUN_EVALUATION, {"max_attempts": 1, "record_ids": ["a"]}),
        (EvaluationJob.SUMMARIZE, None),
    ],
)
def test_dagsters_command_line_launches_them_with_their_configuration(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: EvaluationJob,
    config: Config | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.delenv(EVALUATIONS_VARIABLE, raising=False)
    prepare_dagster_home()
    load_evaluation(write_evaluation(tmp_path / "evaluations", ["a", "b"], name="mine"))
    run_config = {"ops": {job_op_name("mine", kind): {"config": config}}} if config else {}
    command = [sys.executable, "-m", "dagster", "job", "launch"]
    command += ["--module-name", "orchestrator_assets.definitions", "--job", job_name("mine", kind)]
    command += ["--config-json", json.dumps(run_config)]

    subprocess.run(
        command,
        check=True,
        timeout=LAUNCH_LIMIT_SECONDS,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )

    with DagsterInstance.get() as instance:
        (run,) = instance.get_runs()
        assert run.job_name == job_name("mine", kind)
        assert run.run_config == run_config
        assert not any(tag.startswith("dagster/partition") for tag in run.tags)
