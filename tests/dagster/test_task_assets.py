"""Materialising an evaluation's tasks on a real instance, with fake calls."""

from __future__ import annotations

import dagster as dg
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls

from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    evaluation_summary_key,
    task_asset_key,
)

ALL = tuple(f"record_{number}" for number in range(5))
BUT_SECOND_AND_FOURTH = ("record_0", "record_2", "record_4")
SECOND_AND_FOURTH = ("record_1", "record_3")


def plant_two_failures(calls: FakeCalls) -> None:
    calls.plans = {"record_1": [Attempt.CUT_OFF], "record_3": [Attempt.MISSPOKEN]}


def test_an_evaluation_has_exactly_these_assets(workbench: Workbench) -> None:
    assert {key.to_user_string() for key in workbench.definitions.resolve_all_asset_keys()} == {
        "trial_run/conversation",
        "trial_run/audio",
        "trial_run/validation",
        "trial_run/metrics",
        "trial_run/record_summary",
        "trial_run/evaluation_summary",
    }


def test_every_asset_is_in_the_evaluations_group_and_skippable(workbench: Workbench) -> None:
    for spec in workbench.definitions.resolve_all_asset_specs():
        assert spec.group_name == "trial_run"
        assert spec.description
        if spec.key != evaluation_summary_key("trial_run"):
            assert spec.skippable
            assert spec.code_version


def test_a_run_without_failures_materialises_every_partition_once(
    workbench: Workbench, calls: FakeCalls
) -> None:
    result = workbench.materialize()

    assert result.success
    assert workbench.statuses() == {(ALL, ())}
    events = result.get_asset_materialization_events()
    assert len(events) == len(TaskAsset) * len(ALL) + 1
    assert sorted(calls.placed) == [(key, 1) for key in ALL]


def test_exactly_the_tasks_that_were_not_accepted_are_failed_partitions(
    workbench: Workbench, calls: FakeCalls
) -> None:
    plant_two_failures(calls)

    result = workbench.materialize()

    assert not result.success
    assert workbench.statuses() == {(BUT_SECOND_AND_FOURTH, SECOND_AND_FOURTH)}
    message = workbench.failure_message(result.run_id)
    assert "2 of 5 tasks were not accepted" in message
    assert "record_1" in message
    assert "record_3" in message


def test_the_failure_says_why_in_a_table(workbench: Workbench, calls: FakeCalls) -> None:
    plant_two_failures(calls)

    result = workbench.materialize()

    (failure,) = [event for event in result.all_events if event.is_step_failure]
    user_failure = failure.step_failure_data.user_failure_data
    assert user_failure is not None
    table = user_failure.metadata["failures"]
    assert isinstance(table, dg.TableMetadataValue)
    rows = [record.data for record in table.records]
    assert {(row["task"], row["attempts"], row["outcome"]) for row in rows} == {
        ("record_1", 2, "not_finished"),
        ("record_3", 2, "validation_failed"),
    }


def test_scattered_failures_are_rerun_in_one_run_without_partitions(
    workbench: Workbench, calls: FakeCalls
) -> None:
    plant_two_failures(calls)
    workbench.materialize()
    calls.plans = {"record_3": [Attempt.MISSPOKEN]}
    calls.placed.clear()

    result = workbench.rerun_failed()

    assert not result.success
    assert {task_id for task_id, _ in calls.placed} == set(SECOND_AND_FOURTH)
    but_fourth = tuple(key for key in ALL if key != "record_3")
    assert workbench.statuses() == {(but_fourth, ("record_3",))}

    calls.plans = {}
    assert workbench.rerun_failed().success
    assert workbench.statuses() == {(ALL, ())}


def test_the_assets_themselves_rerun_failures_when_launched_without_partitions(
    workbench: Workbench, calls: FakeCalls
) -> None:
    plant_two_failures(calls)
    workbench.materialize()
    calls.plans = {}

    assert workbench.materialize(untagged=True).success
    assert workbench.statuses() == {(ALL, ())}


def test_a_task_that_fails_in_a_run_without_partitions_is_failed_even_if_it_never_ran_before(
    workbench: Workbench, calls: FakeCalls
) -> None:
    plant_two_failures(calls)

    result = workbench.rerun_failed({"task_keys": ["record_0", "record_1"]})

    assert not result.success
    assert workbench.statuses() == {(("record_0",), ("record_1",))}


def test_a_rerun_with_nothing_failed_is_an_error(workbench: Workbench) -> None:
    result = workbench.rerun_failed()

    assert not result.success
    assert "there is nothing to do" in workbench.failure_message(result.run_id)


def test_an_empty_list_of_keys_is_an_error(workbench: Workbench) -> None:
    result = workbench.rerun_failed({"task_keys": []})

    assert not result.success
    assert "there is nothing to do" in workbench.failure_message(result.run_id)


def test_unknown_keys_are_named_and_nobody_is_called(
    workbench: Workbench, calls: FakeCalls
) -> None:
    result = workbench.rerun_failed({"task_keys": ["record_0", "nobody"]})

    assert not result.success
    assert "1 of 2 partitions have no task" in workbench.failure_message(result.run_id)
    assert "nobody" in workbench.failure_message(result.run_id)
    assert calls.placed == []


def test_task_keys_beside_partitions_are_refused(workbench: Workbench) -> None:
    result = workbench.materialize(config={"task_keys": ["record_0"]})

    assert not result.success
    assert "`task_keys` is for runs without partitions" in workbench.failure_message(result.run_id)


def test_accepted_tasks_are_materialised_again_as_reused_so_that_they_do_not_turn_failed(
    workbench: Workbench, calls: FakeCalls
) -> None:
    plant_two_failures(calls)
    workbench.materialize()
    calls.placed.clear()

    workbench.materialize()

    assert {task_id for task_id, _ in calls.placed} == set(SECOND_AND_FOURTH)
    assert workbench.statuses() == {(BUT_SECOND_AND_FOURTH, SECOND_AND_FOURTH)}
    key = task_asset_key("trial_run", TaskAsset.CONVERSATION)
    assert workbench.latest(key, "record_0").metadata["reused"].value is True


def test_a_new_conversation_is_not_marked_as_reused(workbench: Workbench) -> None:
    workbench.materialize()

    key = task_asset_key("trial_run", TaskAsset.CONVERSATION)
    assert workbench.latest(key, "record_0").metadata["reused"].value is False


def test_force_calls_accepted_tasks_again(workbench: Workbench, calls: FakeCalls) -> None:
    workbench.materialize()
    calls.placed.clear()

    assert workbench.materialize(config={"force": True}).success
    assert sorted(calls.placed) == [(key, 2) for key in ALL]


def test_force_without_a_conversation_to_call_for_is_an_error(workbench: Workbench) -> None:
    result = workbench.materialize(assets=[TaskAsset.METRICS], config={"force": True})

    assert not result.success
    assert "neither the conversation nor the audio" in workbench.failure_message(result.run_id)


def test_validation_alone_judges_again_and_calls_nobody(
    workbench: Workbench, calls: FakeCalls
) -> None:
    workbench.materialize()
    calls.placed.clear()
    calls.judged.clear()
    calls.scored.clear()

    result = workbench.materialize(assets=[TaskAsset.VALIDATION])

    assert result.success
    assert calls.placed == []
    assert sorted(calls.judged) == list(ALL)
    assert calls.scored == []
    materialised = {event.asset_key for event in result.get_asset_materialization_events()}
    assert materialised == {
        task_asset_key("trial_run", TaskAsset.VALIDATION),
        evaluation_summary_key("trial_run"),
    }


def test_metrics_alone_score_again_and_judge_nothing(
    workbench: Workbench, calls: FakeCalls
) -> None:
    workbench.materialize()
    calls.placed.clear()
    calls.judged.clear()
    calls.scored.clear()

    assert workbench.materialize(assets=[TaskAsset.METRICS]).success
    assert (calls.placed, calls.judged, sorted(calls.scored)) == ([], [], list(ALL))


def test_validation_and_metrics_judge_and_score_what_is_there(
    workbench: Workbench, calls: FakeCalls
) -> None:
    workbench.materialize()
    calls.placed.clear()
    calls.judged.clear()
    calls.scored.clear()

    assert workbench.materialize(assets=[TaskAsset.VALIDATION, TaskAsset.METRICS]).success
    assert calls.placed == []
    assert sorted(calls.judged) == sorted(calls.scored) == list(ALL)


def test_a_new_conversation_is_materialised_in_every_asset_whatever_was_selected(
    workbench: Workbench,
) -> None:
    assert workbench.materialize(assets=[TaskAsset.CONVERSATION]).success

    assert workbench.statuses() == {(ALL, ())}


def test_the_summary_is_materialised_although_the_run_failed(
    workbench: Workbench, calls: FakeCalls
) -> None:
    plant_two_failures(calls)

    workbench.materialize()

    metadata = workbench.latest(evaluation_summary_key("trial_run")).metadata
    assert metadata["tasks"].value == 5
    assert metadata["accepted"].value == 3
    assert metadata["failed"].value == 2
    assert metadata["success_rate"].value == 0.6
    assert "record\\_3" in metadata["failures"].value


def test_the_summary_can_be_materialised_by_itself(workbench: Workbench) -> None:
    workbench.materialize()
    job = workbench.definitions.resolve_implicit_global_asset_job_def()

    result = job.execute_in_process(
        instance=workbench.instance, asset_selection=[evaluation_summary_key("trial_run")]
    )

    (event,) = result.get_asset_materialization_events()
    assert event.materialization.metadata["accepted"].value == 5


def test_an_error_before_the_first_call_fails_every_partition_with_its_message(
    workbench: Workbench, calls: FakeCalls
) -> None:
    (workbench.evaluation.run_directory / "records" / "record_0" / "trial_0").mkdir(parents=True)

    result = workbench.materialize()

    assert not result.success
    assert "num_trials" in workbench.failure_message(result.run_id)
    assert workbench.statuses() == {((), ALL)}
    assert calls.placed == []
