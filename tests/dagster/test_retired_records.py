"""Records that were taken out of the data set: their partitions are left as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.dagster_assets.jobs import EvaluationJob
from orchestrator_assets.dagster_assets.keys import TaskAsset
from orchestrator_assets.dagster_assets.partitions import PartitionRange

EVERYTHING = PartitionRange("record_0", "record_4")


@pytest.fixture
def settled(workbench: Workbench, calls: FakeCalls) -> Workbench:
    """All tasks settled, the second one failed."""
    calls.plans = {"record_1": [Attempt.CUT_OFF]}
    workbench.materialize()
    calls.placed.clear()
    return workbench


def keep_only(tmp_path: Path, *record_ids: str) -> None:
    write_evaluation(tmp_path / "evaluation", record_ids)


def warnings(workbench: Workbench, run_id: str) -> list[str]:
    return [
        entry.user_message
        for entry in workbench.instance.all_logs(run_id)
        if entry.level == 30 and not entry.is_dagster_event
    ]


def test_materialising_everything_skips_them_and_says_so(
    settled: Workbench, calls: FakeCalls, tmp_path: Path
) -> None:
    keep_only(tmp_path, "record_0", "record_2", "record_3")
    before = settled.statuses()

    result = settled.materialize(partitions=EVERYTHING)

    assert result.success
    assert settled.statuses() == before
    (note,) = warnings(settled, result.run_id)
    assert "2 of 5 partitions are retired, and left as they are: record_1, record_4" in note
    assert "trial_run_records.json" in note
    materialised = {
        event.partition for event in result.get_asset_materialization_events() if event.partition
    }
    assert materialised == {"record_0", "record_2", "record_3"}


def test_a_run_that_fails_for_another_task_leaves_them_as_they_are_too(
    settled: Workbench, calls: FakeCalls, tmp_path: Path
) -> None:
    keep_only(tmp_path, "record_0", "record_1", "record_2")
    before = settled.statuses()

    assert not settled.materialize(partitions=EVERYTHING).success
    assert settled.statuses() == before


def test_a_run_of_nothing_else_is_an_error_that_says_so_and_changes_nothing(
    settled: Workbench, tmp_path: Path
) -> None:
    keep_only(tmp_path, "record_0")
    before = settled.statuses()

    result = settled.materialize(partitions=PartitionRange("record_2", "record_3"))

    assert not result.success
    message = settled.failure_message(result.run_id)
    assert "all 2 partitions of this run are retired: record_2, record_3" in message
    assert settled.statuses() == before


def test_a_rerun_skips_failed_ones_and_is_an_error_if_there_are_no_others(
    settled: Workbench, calls: FakeCalls, tmp_path: Path
) -> None:
    keep_only(tmp_path, "record_0", "record_2")

    result = settled.rerun_failed()
    assert "all 1 partitions of this run are retired" in settled.failure_message(result.run_id)

    assert settled.rerun_failed({"task_keys": ["record_0", "record_1"]}).success
    assert settled.failed(TaskAsset.CONVERSATION) == ["record_1"]
    assert calls.placed == []


def test_running_the_evaluation_knows_nothing_of_them(settled: Workbench, tmp_path: Path) -> None:
    keep_only(tmp_path, "record_0", "record_2")

    result = settled.run_job(EvaluationJob.RUN_EVALUATION)

    assert result.success
    assert warnings(settled, result.run_id) == []


def test_a_record_that_comes_back_is_called_where_it_left_off(
    settled: Workbench, calls: FakeCalls, tmp_path: Path
) -> None:
    keep_only(tmp_path, "record_0")
    settled.run_job(EvaluationJob.RUN_EVALUATION)
    keep_only(tmp_path, "record_0", "record_1")
    calls.plans = {}

    assert settled.rerun_failed().success
    assert calls.placed == [("record_1", 3)]
