"""The event log whose connections are kept: the same as Dagster's own, whatever happens to it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import dagster as dg
import event_writing
import pytest
from dagster import AssetKey, DagsterEventType, DagsterInstance
from dagster._core.events.log import EventLogEntry
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls, write_evaluation
from event_writing import ASSETS, CHECK, EVENTS_PER_BATCH, planned, task_events, write_tasks

from orchestrator_assets.dagster_assets import sqlite_storage
from orchestrator_assets.dagster_assets.instance import (
    HOME_VARIABLE,
    prepare_dagster_home,
)
from orchestrator_assets.dagster_assets.sqlite_storage import (
    BATCH_SIZE_VARIABLE,
    TESTED_DAGSTER_VERSIONS,
    KeptSqliteEventLogStorage,
)
from orchestrator_assets.evaluation import load_evaluation

EXIT_LIMIT_SECONDS = 120
WATCH_LIMIT_SECONDS = 30
EVENT_COLUMNS = "id, dagster_event_type, asset_key, partition, event"
ASSET_COLUMNS = "asset_key, last_materialization, last_run_id, last_materialization_timestamp"
CHECK_COLUMNS = (
    "asset_key, check_name, partition, execution_status, evaluation_event, "
    "evaluation_event_storage_id"
)
COMPARED = [
    ("run", "event_logs", EVENT_COLUMNS),
    ("index", "event_logs", EVENT_COLUMNS),
    ("index", "asset_keys", ASSET_COLUMNS),
    ("index", "asset_check_executions", CHECK_COLUMNS),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    # Set by the storage for whoever works on the instance, and taken back after the test.
    monkeypatch.setenv(BATCH_SIZE_VARIABLE, "0")
    monkeypatch.delenv(BATCH_SIZE_VARIABLE)
    return prepare_dagster_home()


@pytest.fixture
def instance(home: Path) -> Iterator[DagsterInstance]:
    with DagsterInstance.get() as instance:
        yield instance


@pytest.fixture
def plain_home(tmp_path: Path) -> Path:
    folder = tmp_path / "plain_home"
    folder.mkdir()
    return folder


def shards(home: Path) -> Path:
    return home / "history" / "runs"


def rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def is_intact(database: Path) -> bool:
    return rows(database, "PRAGMA integrity_check") == [("ok",)]


def materialized_partitions(instance: DagsterInstance, asset: AssetKey) -> set[str]:
    return set(instance.get_materialized_partitions(asset))


def open_shards(home: Path) -> set[str]:
    descriptors = Path("/proc/self/fd").iterdir()
    targets = {str(path.readlink()) for path in descriptors if path.is_symlink()}
    return {Path(target).stem for target in targets if target.startswith(str(shards(home)))}


def started_writer(
    home: Path, run_id: str, batches: int, *, stays: bool = False
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, event_writing.__file__, str(home), run_id, str(batches)],
        stdin=subprocess.PIPE if stays else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )


def test_the_shipped_instance_keeps_connections_with_the_dagster_it_is_tested_with(
    instance: DagsterInstance,
) -> None:
    storage = instance.event_log_storage
    assert isinstance(storage, KeptSqliteEventLogStorage)
    assert storage.takes_batches
    assert dg.__version__ in TESTED_DAGSTER_VERSIONS
    assert int(os.environ[BATCH_SIZE_VARIABLE]) > 1


def test_batches_leave_what_dagster_leaves_of_single_events(
    instance: DagsterInstance, home: Path, plain_home: Path
) -> None:
    events = [planned("run", asset, key) for asset in ASSETS for key in ("first", "second")]
    events += task_events("run", "second") + task_events("run", "first")

    instance.event_log_storage.store_event_batch(events)
    with DagsterInstance.from_config(str(plain_home)) as plain:
        for event in events:
            plain.event_log_storage.store_event(event)

    for shard, table, columns in COMPARED:
        query = f"SELECT {columns} FROM {table}"  # noqa: S608
        mine = rows(shards(home) / f"{shard}.db", query)
        assert mine
        assert mine == rows(shards(plain_home) / f"{shard}.db", query)


def test_an_evaluation_leaves_the_same_events_as_on_dagsters_own_storage(
    instance: DagsterInstance, plain_home: Path, tmp_path: Path
) -> None:
    left = []
    with DagsterInstance.from_config(str(plain_home)) as plain:
        for number, used in enumerate((instance, plain)):
            calls = FakeCalls({"second": [Attempt.CUT_OFF], "third": [Attempt.MISSPOKEN]})
            path = write_evaluation(tmp_path / str(number), ["first", "second", "third", "fourth"])
            workbench = Workbench(used, load_evaluation(path), calls.create_run)
            result = workbench.materialize()
            assert workbench.statuses() == {(("first", "fourth"), ("second", "third"))}
            assert not workbench.rerun_failed().success
            left.append(noteworthy_events(used, result.run_id))
    assert left[0]
    assert left[0] == left[1]


def noteworthy_events(instance: DagsterInstance, run_id: str) -> list[tuple[str, ...]]:
    """Return kind, asset and partition of a run's events, sorted: tasks settle in any order."""
    entries = [entry for entry in instance.all_logs(run_id) if entry.is_dagster_event]
    events = [entry.get_dagster_event() for entry in entries]
    return sorted(
        (event.event_type_value, str(event.asset_key), str(event.partition)) for event in events
    )


def test_dagsters_own_storage_reads_and_goes_on_with_the_files(
    instance: DagsterInstance, home: Path, plain_home: Path
) -> None:
    write_tasks(instance, "run", 2)
    (home / "dagster.yaml").unlink()
    with DagsterInstance.from_config(str(home)) as plain:
        assert not isinstance(plain.event_log_storage, KeptSqliteEventLogStorage)
        for event in task_events("run", "later"):
            plain.event_log_storage.store_event(event)

    assert materialized_partitions(instance, ASSETS[0]) == {"run_0", "run_1", "later"}


def test_with_another_dagster_it_is_dagsters_own_storage(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_storage, "TESTED_DAGSTER_VERSIONS", frozenset({"0.1"}))
    with DagsterInstance.get() as instance:
        storage = instance.event_log_storage
        assert isinstance(storage, KeptSqliteEventLogStorage)
        assert not storage.takes_batches
        write_tasks(instance, "run", 1)
        assert open_shards(home) == set()
        assert materialized_partitions(instance, ASSETS[0]) == {"run_0"}
        assert BATCH_SIZE_VARIABLE not in os.environ


def test_files_of_many_runs_are_not_all_kept_open(instance: DagsterInstance, home: Path) -> None:
    for number in range(20):
        write_tasks(instance, f"run_{number}", 1)
        assert len(open_shards(home)) <= 8

    assert len(materialized_partitions(instance, ASSETS[0])) == 20
    instance.event_log_storage.dispose()
    assert open_shards(home) == set()


def test_events_go_to_a_new_file_where_the_old_one_was_deleted(
    instance: DagsterInstance, home: Path
) -> None:
    write_tasks(instance, "run", 3)
    for path in shards(home).glob("run.db*"):
        path.unlink()

    write_tasks(instance, "run", 1)
    assert len(instance.all_logs("run")) == EVENTS_PER_BATCH


def test_a_whole_folder_can_be_replaced_under_a_running_instance(
    instance: DagsterInstance, home: Path
) -> None:
    write_tasks(instance, "run", 1)
    shutil.rmtree(shards(home))
    shards(home).mkdir()

    write_tasks(instance, "run", 2)
    assert materialized_partitions(instance, ASSETS[0]) == {"run_0", "run_1"}


def test_a_forked_process_uses_no_connection_of_its_parent(
    instance: DagsterInstance, home: Path
) -> None:
    write_tasks(instance, "parent", 2)

    def write_on_inherited_instance() -> None:
        write_tasks(instance, "child", 3)

    child = multiprocessing.get_context("fork").Process(target=write_on_inherited_instance)
    child.start()
    child.join(EXIT_LIMIT_SECONDS)
    assert child.exitcode == 0

    write_tasks(instance, "parent_again", 2)
    assert len(materialized_partitions(instance, ASSETS[0])) == 7
    assert is_intact(shards(home) / "index.db")


def test_threads_write_and_read_at_the_same_time(instance: DagsterInstance, home: Path) -> None:
    def read(_: int) -> int:
        return len(materialized_partitions(instance, ASSETS[0]))

    with ThreadPoolExecutor(8) as threads:
        writing = [threads.submit(write_tasks, instance, f"run_{n}", 10) for n in range(6)]
        seen = list(threads.map(read, range(20)))
        for each in writing:
            each.result()

    assert len(seen) == 20
    assert len(materialized_partitions(instance, ASSETS[0])) == 60


def test_runs_in_processes_of_their_own_lose_nothing_while_somebody_reads(
    instance: DagsterInstance, home: Path
) -> None:
    writers = [started_writer(home, f"run_{number}", 40) for number in range(3)]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        now = len(materialized_partitions(instance, ASSETS[0]))
        assert now >= seen
        seen = now
    for writer in writers:
        writer.communicate(timeout=EXIT_LIMIT_SECONDS)
        assert writer.returncode == 0

    for asset in ASSETS:
        assert len(materialized_partitions(instance, asset)) == 120
        check = dg.AssetCheckKey(asset, CHECK)
        found = instance.event_log_storage.get_asset_check_partition_info([check])
        assert len(found) == 120
    for number in range(3):
        assert len(instance.all_logs(f"run_{number}")) == 40 * EVENTS_PER_BATCH


def test_whoever_watches_a_run_is_told_of_its_events_as_they_come(
    instance: DagsterInstance, home: Path
) -> None:
    # As the UI does, for the page of a run that goes on in another process.
    seen: list[str | None] = []
    told = threading.Condition()

    def see(event: EventLogEntry, _: str) -> None:
        with told:
            seen.append(event.get_dagster_event().partition)
            told.notify()

    instance.watch_event_logs("run", None, see)
    writer = started_writer(home, "run", 3, stays=True)
    try:
        with told:
            assert told.wait_for(lambda: len(seen) >= 3 * EVENTS_PER_BATCH, WATCH_LIMIT_SECONDS)
        assert writer.poll() is None
    finally:
        instance.end_watch_event_logs("run", see)
        writer.communicate(timeout=EXIT_LIMIT_SECONDS)
    assert len(seen) == 3 * EVENTS_PER_BATCH
    assert {partition for partition in seen if partition} == {"run_0", "run_1", "run_2"}


def test_a_process_killed_while_it_writes_tears_no_batch_and_loses_none(
    instance: DagsterInstance, home: Path
) -> None:
    stored: dict[str, int] = {}
    for attempt in range(4):
        run_id = f"run_{attempt}"
        writer = started_writer(home, run_id, 100_000)
        assert writer.stdout is not None
        for _ in range(10 + 7 * attempt):
            assert writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        stored[run_id] = 10 + 7 * attempt + len(writer.stdout.readlines())
        writer.wait(EXIT_LIMIT_SECONDS)

    index = shards(home) / "index.db"
    assert is_intact(index)
    for run_id, batches in stored.items():
        shard = shards(home) / f"{run_id}.db"
        assert is_intact(shard)
        for database in (shard, index):
            query = f"SELECT count(*) FROM event_logs WHERE run_id = '{run_id}'"  # noqa: S608
            [(events,)] = rows(database, query)
            assert events % EVENTS_PER_BATCH == 0
            # It may have been killed between storing a batch and saying so.
            assert batches <= events // EVENTS_PER_BATCH <= batches + 1
    write_tasks(instance, "run_0", 1)
    types = {DagsterEventType.ASSET_MATERIALIZATION}
    assert len(instance.all_logs("run_0", of_type=types)) >= 2 * stored["run_0"] + 2
