"""Watching a data set: what ticks ask for, on a real instance, as a daemon would make them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import fsspec
import pytest
from dagster import DagsterInstance, build_sensor_context
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.dagster_assets import build_evaluation_definitions
from orchestrator_assets.dagster_assets.partitions import (
    RANGE_END_TAG,
    RANGE_START_TAG,
    partitions_name,
    register_partitions,
    task_partitions,
)
from orchestrator_assets.dagster_assets.run_requests import range_job_name
from orchestrator_assets.evaluation import Evaluation, load_evaluation

Tick = dg.SensorResult


@dataclass
class Daemon:
    """Ticks a sensor and does what it asks for, in the order of Dagster's daemon."""

    instance: DagsterInstance
    evaluation: Evaluation
    cursor: str | None = None
    run_keys: list[str] = field(default_factory=list)

    @property
    def sensor(self) -> dg.SensorDefinition:
        definitions = build_evaluation_definitions(self.evaluation)
        return definitions.resolve_sensor_def(f"{self.evaluation.name}_new_records")

    def look(self) -> Any:
        """Evaluate a tick, and do nothing of what it asks for."""
        context = build_sensor_context(instance=self.instance, cursor=self.cursor)
        return self.sensor.evaluate_tick(context)

    def tick(self) -> Any:
        tick = self.look()
        self.do(tick)
        return tick

    def do(self, tick: Any) -> None:
        name = partitions_name(self.evaluation.name)
        for request in tick.dynamic_partitions_requests or []:
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions(name, request.partition_keys)
            else:
                for key in request.partition_keys:
                    self.instance.delete_dynamic_partition(name, key)
        self.run_keys += [request.run_key for request in tick.run_requests or []]
        self.cursor = tick.cursor

    @property
    def partitions(self) -> list[str]:
        return list(self.instance.get_dynamic_partitions(partitions_name(self.evaluation.name)))


def added(tick: Any) -> list[str]:
    return [
        key
        for request in tick.dynamic_partitions_requests or []
        if isinstance(request, dg.AddDynamicPartitionsRequest)
        for key in request.partition_keys
    ]


def ranges(tick: Any) -> list[tuple[str, str]]:
    return [
        (request.tags[RANGE_START_TAG], request.tags[RANGE_END_TAG])
        for request in tick.run_requests or []
    ]


def write_records(path: Path, ids: Sequence[str], **fields: Any) -> None:
    path.write_text(json.dumps([{"id": each, **fields} for each in ids]), encoding="utf-8")


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    return tmp_path / "trial_run_records.json"


@pytest.fixture
def daemon(instance: DagsterInstance, tmp_path: Path, data_set: Path) -> Daemon:
    """A daemon that has registered `a` and `b`."""
    daemon = Daemon(instance, load_evaluation(write_evaluation(tmp_path, ["a", "b"])))
    daemon.tick()
    return daemon


def test_the_first_tick_registers_and_calls_nobody(
    instance: DagsterInstance, tmp_path: Path
) -> None:
    daemon = Daemon(instance, load_evaluation(write_evaluation(tmp_path, ["b", "a"])))

    tick = daemon.tick()

    assert added(tick) == ["b", "a"]
    assert not tick.run_requests
    assert "nobody is called" in tick.skip_message
    assert daemon.partitions == ["b", "a"]


def test_nothing_is_asked_for_while_the_data_set_stays_the_same(daemon: Daemon) -> None:
    tick = daemon.tick()

    assert (added(tick), tick.run_requests) == ([], [])
    assert tick.skip_message.endswith("trial_run_records.json has not changed")


def test_a_touched_file_has_not_changed(daemon: Daemon, data_set: Path) -> None:
    os.utime(data_set, (0, 0))

    assert "has not changed" in daemon.tick().skip_message


def test_new_records_get_partitions_and_one_range_run(daemon: Daemon, data_set: Path) -> None:
    write_records(data_set, ["x", "a", "b", "y"])

    tick = daemon.tick()

    assert added(tick) == ["x", "y"]
    assert ranges(tick) == [("x", "y")]
    assert tick.run_requests[0].job_name == range_job_name("trial_run")
    assert daemon.partitions == ["a", "b", "x", "y"]


def test_two_ticks_in_a_row_start_one_run(daemon: Daemon, data_set: Path) -> None:
    write_records(data_set, ["a", "b", "c"])

    daemon.tick()
    daemon.tick()

    assert len(daemon.run_keys) == 1


def test_two_daemons_ask_for_the_same_run(daemon: Daemon, data_set: Path) -> None:
    write_records(data_set, ["a", "b", "c"])

    first, second = daemon.look(), daemon.look()

    assert first.run_requests[0].run_key == second.run_requests[0].run_key
    assert first.cursor == second.cursor


def test_a_daemon_that_died_after_adding_partitions_still_asks_for_the_run(
    daemon: Daemon, instance: DagsterInstance, data_set: Path
) -> None:
    write_records(data_set, ["a", "b", "c"])
    lost = daemon.look()
    register_partitions(instance, "trial_run", added(lost))

    tick = daemon.tick()

    assert added(tick) == []
    assert ranges(tick) == [("c", "c")]
    assert tick.run_requests[0].run_key == lost.run_requests[0].run_key


def test_a_run_that_called_nobody_is_asked_for_again_with_the_next_change(
    daemon: Daemon, data_set: Path
) -> None:
    write_records(data_set, ["a", "b", "c"])
    daemon.tick()
    write_records(data_set, ["a", "b", "c", "d"])

    tick = daemon.tick()

    assert ranges(tick) == [("c", "d")]
    assert len(set(daemon.run_keys)) == 2


def test_what_was_called_is_not_asked_for_again(
    daemon: Daemon, instance: DagsterInstance, data_set: Path
) -> None:
    write_records(data_set, ["a", "b", "c"])
    daemon.tick()
    calls = FakeCalls({"c": [Attempt.CUT_OFF]})
    Workbench(instance, daemon.evaluation, calls.create_run).materialize()
    write_records(data_set, ["a", "b", "c", "d"])

    assert ranges(daemon.tick()) == [("d", "d")]


def test_the_same_change_made_twice_has_two_run_keys(daemon: Daemon, data_set: Path) -> None:
    for ids in (["a", "b", "c"], ["a", "b"], ["a", "b", "c"]):
        write_records(data_set, ids)
        daemon.tick()

    assert len(set(daemon.run_keys)) == len(daemon.run_keys) == 2


def test_scattered_tasks_are_one_run_of_the_job_that_takes_keys(
    daemon: Daemon, instance: DagsterInstance, data_set: Path
) -> None:
    register_partitions(instance, "trial_run", ["known", "between"])
    write_records(data_set, ["a", "b", "known", "new"])

    (request,) = daemon.tick().run_requests

    assert request.job_name == "trial_run_run_evaluation"
    assert request.run_config["ops"]["trial_run_run"]["config"] == {"task_keys": ["known", "new"]}
    assert RANGE_START_TAG not in request.tags


def test_thousands_of_records_are_added_and_run_in_chunks(daemon: Daemon, data_set: Path) -> None:
    ids = [f"record_{number:04}" for number in range(1_200)]
    write_records(data_set, ["a", "b", *ids])

    tick = daemon.tick()

    assert [len(each.partition_keys) for each in tick.dynamic_partitions_requests] == [1_000, 200]
    assert ranges(tick) == [
        ("record_0000", "record_0499"),
        ("record_0500", "record_0999"),
        ("record_1000", "record_1199"),
    ]
    assert len(set(daemon.run_keys)) == 3


def test_changed_and_removed_records_are_reported_and_nothing_is_deleted(
    daemon: Daemon, data_set: Path
) -> None:
    write_records(data_set, ["b"], goal="another one")

    tick = daemon.tick()

    assert not tick.run_requests
    assert "changed, to be called again by the next run: b" in tick.skip_message
    assert "removed: a" in tick.skip_message
    assert "partitions without a record are kept: a" in tick.skip_message
    assert daemon.partitions == ["a", "b"]


def test_partitions_are_dropped_where_the_evaluation_says_so(
    daemon: Daemon, tmp_path: Path
) -> None:
    path = write_evaluation(tmp_path, ["b"], dagster={"drop_retired_partitions": True})
    daemon.evaluation = load_evaluation(path)

    tick = daemon.tick()

    assert "partitions without a record are dropped: a" in tick.skip_message
    assert daemon.partitions == ["b"]


def test_records_the_evaluation_leaves_out_are_not_dropped(daemon: Daemon, tmp_path: Path) -> None:
    path = write_evaluation(tmp_path, ["a", "b"], dagster={"drop_retired_partitions": True})
    evaluation = load_evaluation(path)
    daemon.evaluation = evaluation.model_copy(update={"record_ids": ("b",)})

    daemon.tick()

    assert daemon.partitions == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('[{"id": "a"}, {"id": "a"}]', "record 'a': the id stands 2 times"),
        ('[{"id": "a"}, {"id": ""}]', "record number 2, id"),
        ('[{"id": "a"', "can't be parsed"),
        ("[]", "holds no record"),
        ("", "can't be parsed"),
    ],
)
def test_a_faulty_data_set_skips_the_tick_with_its_faults_and_loses_nothing(
    daemon: Daemon, data_set: Path, content: str, fault: str
) -> None:
    before = daemon.cursor
    data_set.write_text(content, encoding="utf-8")

    tick = daemon.tick()

    assert fault in tick.skip_message
    assert not tick.run_requests
    assert not tick.dynamic_partitions_requests
    assert daemon.cursor == before
    write_records(data_set, ["a", "b", "c"])
    assert ranges(daemon.tick()) == [("c", "c")]


def test_a_data_set_that_is_gone_skips_the_tick_and_drops_nothing(
    daemon: Daemon, data_set: Path
) -> None:
    daemon.evaluation = daemon.evaluation.model_copy(
        update={
            "dagster": daemon.evaluation.dagster.model_copy(
                update={"drop_retired_partitions": True}
            )
        }
    )
    data_set.unlink()

    tick = daemon.tick()

    assert "can't be read" in tick.skip_message
    assert daemon.partitions == ["a", "b"]


def test_a_folder_is_watched_file_by_file(instance: DagsterInstance, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    write_records(folder / "2_second.json", ["b"])
    (folder / "1_first.jsonl").write_text('{"id": "a"}\n')
    daemon = Daemon(instance, load_evaluation(write_evaluation(tmp_path, [], data_set="records")))
    assert added(daemon.tick()) == ["a", "b"]

    write_records(folder / "0_third.json", ["c"])

    assert ranges(daemon.tick()) == [("c", "c")]
    write_records(folder / "4_fourth.json", ["a"])
    faulty = daemon.tick()
    assert "1_first.jsonl" in faulty.skip_message
    assert "4_fourth.json" in faulty.skip_message


def test_a_url_is_watched(instance: DagsterInstance, tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/records.json"
    daemon = Daemon(instance, load_evaluation(write_evaluation(tmp_path, [], data_set=url)))
    assert "can't be read" in daemon.tick().skip_message
    with fsspec.open(url, "w") as file:
        file.write('[{"id": "a"}]')
    assert added(daemon.tick()) == ["a"]

    with fsspec.open(url, "w") as file:
        file.write('[{"id": "a"}, {"id": "b"}]')

    assert ranges(daemon.tick()) == [("b", "b")]


def test_a_lost_version_falls_back_on_the_partitions(daemon: Daemon, data_set: Path) -> None:
    for path in (daemon.evaluation.run_directory / "data_sets").iterdir():
        path.unlink()
    write_records(data_set, ["a", "b", "c"])

    assert ranges(daemon.tick()) == [("c", "c")]


def test_the_partitions_definition_is_the_assets_own(daemon: Daemon) -> None:
    assert task_partitions("trial_run").name == partitions_name("trial_run")
    assert daemon.sensor.default_status is dg.DefaultSensorStatus.RUNNING
