"""Settings that hold for one run: in the launchpad, or from any other launcher."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dagster import DagsterInstance
from dagster_workbench import Config, Workbench
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.dagster_assets.config import AttemptConfig, RerunConfig, with_limits
from orchestrator_assets.dagster_assets.jobs import EvaluationJob
from orchestrator_assets.dagster_assets.launch import Launcher
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import Evaluation, load_evaluation

ALL = tuple(f"record_{number}" for number in range(5))


def test_every_setting_is_described_in_the_launchpad() -> None:
    for field in RerunConfig.to_config_schema().as_field().config_type.fields.values():  # type: ignore[attr-defined]
        assert field.description


def test_limits_hold_for_the_run_and_shape_no_call(evaluation: Evaluation) -> None:
    limited = with_limits(evaluation, AttemptConfig(max_attempts=1, max_concurrent_conversations=2))

    assert (limited.max_attempts, limited.max_concurrent_conversations) == (1, 2)
    assert (evaluation.max_attempts, evaluation.max_concurrent_conversations) == (2, 4)
    record = evaluation.load_tasks()[0].record
    assert limited.call_fingerprint(record) == evaluation.call_fingerprint(record)
    assert with_limits(evaluation, AttemptConfig()) == evaluation


def test_limits_an_evaluation_could_not_have_are_listed_by_name(evaluation: Evaluation) -> None:
    with pytest.raises(ConfigurationError) as caught:
        with_limits(evaluation, AttemptConfig(max_attempts=21, max_concurrent_conversations=0))

    assert [fault.location for fault in caught.value.faults] == [
        "run config, max_attempts",
        "run config, max_concurrent_conversations",
    ]
    assert "21 can't be used: Input should be less than or equal to 20" in str(caught.value)


def test_max_attempts_is_the_runs_own_and_the_next_run_has_the_evaluations(
    workbench: Workbench, calls: FakeCalls
) -> None:
    calls.plans = {"record_1": [Attempt.CUT_OFF]}

    workbench.materialize(config={"max_attempts": 1})
    assert [number for task_id, number in calls.placed if task_id == "record_1"] == [1]

    workbench.rerun_failed()
    assert [number for task_id, number in calls.placed if task_id == "record_1"] == [1, 2, 3]


def test_an_impossible_limit_fails_the_run_and_costs_no_partition_its_acceptance(
    workbench: Workbench, calls: FakeCalls
) -> None:
    calls.plans = {"record_1": [Attempt.CUT_OFF]}
    workbench.materialize()
    before = workbench.statuses()
    calls.placed.clear()

    result = workbench.materialize(config={"max_attempts": 99})

    assert "run config, max_attempts: 99" in workbench.failure_message(result.run_id)
    assert workbench.statuses() == before
    assert calls.placed == []


def test_record_ids_choose_every_trial_of_a_record_and_no_other(
    tmp_path: Path, instance: DagsterInstance, calls: FakeCalls
) -> None:
    path = write_evaluation(tmp_path / "trials", ["a b", "c"], name="trials", num_trials=2)
    workbench = Workbench(instance, load_evaluation(path), calls.create_run)

    assert workbench.run_job(EvaluationJob.RUN_EVALUATION, {"record_ids": ["a b"]}).success

    assert workbench.statuses() == {(("a@20b:trial_0", "a@20b:trial_1"), ())}
    summary = json.loads(
        (workbench.evaluation.run_directory / "evaluation_summary.json").read_text()
    )
    assert summary["simulation"]["total_records"] == 4


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"record_ids": ["record_0", "nobody"]}, "1 of 2 record_ids have no task in .*: nobody"),
        ({"record_ids": []}, "`record_ids` is empty"),
        ({"record_ids": ["record_0"], "task_keys": ["record_0"]}, "both say what to work on"),
        ({"force": True, "revalidate": True}, "drop one of them"),
    ],
)
def test_what_can_not_be_meant_is_an_error_and_nobody_is_called(
    workbench: Workbench, calls: FakeCalls, config: Config, message: str
) -> None:
    result = workbench.run_job(EvaluationJob.RUN_EVALUATION, config)

    assert not result.success
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(workbench.failure_message(result.run_id))
    assert calls.placed == []


def test_record_ids_beside_partitions_are_refused(workbench: Workbench) -> None:
    result = workbench.materialize(config={"record_ids": ["record_0"]})

    message = workbench.failure_message(result.run_id)
    assert "`record_ids` is for runs without partitions" in message


@pytest.mark.parametrize(
    ("chosen", "config"),
    [
        (["record_0", "record_1"], {"max_attempts": 1}),
        (["record_0", "record_3"], {"max_attempts": 1, "task_keys": ["record_0", "record_3"]}),
    ],
)
def test_a_launcher_passes_settings_on_to_the_run(
    workbench: Workbench, chosen: list[str], config: Config
) -> None:
    launcher = Launcher(workbench.instance, workbench.evaluation, workbench.definitions)
    tasks = [task for task in workbench.evaluation.load_tasks() if task.key in chosen]

    run = launcher.create_run(tasks, settings={"max_attempts": 1})

    ((_, given),) = run.run_config["ops"].items()
    assert given == {"config": config}


def test_revalidate_judges_what_was_accepted_and_calls_where_it_no_longer_passes(
    workbench: Workbench, calls: FakeCalls
) -> None:
    workbench.materialize()
    calls.placed.clear()
    calls.judged.clear()
    calls.plans = {"record_2": [Attempt.MISSPOKEN, Attempt.GOOD]}

    result = workbench.materialize(config={"revalidate": True})

    assert result.success
    assert sorted(calls.judged) == sorted([*ALL, "record_2"])
    assert calls.placed == [("record_2", 2)]
    assert workbench.statuses() == {(ALL, ())}
