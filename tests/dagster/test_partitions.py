"""Registering tasks as partitions, and finding their ranges."""

from __future__ import annotations

from pathlib import Path

from dagster import DagsterInstance
from evaluation_fakes import write_evaluation

from orchestrator_assets.dagster_assets.partitions import (
    PartitionRange,
    contiguous_range,
    partitions_name,
    register_partitions,
)
from orchestrator_assets.evaluation import Evaluation, load_evaluation


def order(instance: DagsterInstance) -> list[str]:
    return list(instance.get_dynamic_partitions(partitions_name("trial_run")))


def test_keys_are_added_once_and_in_order(instance: DagsterInstance) -> None:
    assert register_partitions(instance, "trial_run", ["b", "a", "b"]) == ["b", "a"]
    assert register_partitions(instance, "trial_run", ["a", "c", "b"]) == ["c"]
    assert order(instance) == ["b", "a", "c"]


def test_more_keys_than_one_statement_takes_are_added(instance: DagsterInstance) -> None:
    keys = [f"key_{number:05}" for number in range(5_001)]

    register_partitions(instance, "trial_run", keys)

    assert order(instance) == keys


def test_a_range_is_found_where_nothing_lies_between(instance: DagsterInstance) -> None:
    register_partitions(instance, "trial_run", ["a", "b", "c", "d"])

    assert contiguous_range(instance, "trial_run", ["c", "b"]) == PartitionRange("b", "c")
    assert contiguous_range(instance, "trial_run", ["d"]) == PartitionRange("d", "d")


def test_there_is_no_range_over_other_keys_or_unregistered_ones(instance: DagsterInstance) -> None:
    register_partitions(instance, "trial_run", ["a", "b", "c"])

    assert contiguous_range(instance, "trial_run", ["a", "c"]) is None
    assert contiguous_range(instance, "trial_run", ["c", "unregistered"]) is None
    assert contiguous_range(instance, "trial_run", []) is None


def test_trials_are_partitions_of_their_own(instance: DagsterInstance, tmp_path: Path) -> None:
    evaluation: Evaluation = load_evaluation(write_evaluation(tmp_path, ["a b"], num_trials=2))

    keys = [task.key for task in evaluation.load_tasks()]

    register_partitions(instance, "trial_run", keys)
    assert order(instance) == ["a@20b:trial_0", "a@20b:trial_1"]
