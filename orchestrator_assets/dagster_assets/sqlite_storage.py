"""Dagster's SQLite storage, with connections of the event log that stay open.

Dagster opens its event log anew for every event: an engine, a connection, and at the end, as it
was the last connection to the file, a checkpoint of the write-ahead log. That is most of what an
event costs. Here each process keeps a connection to the files that it used last, and events that
come in batches are written in one transaction.

The files are those of Dagster's own storage, so that either can take over from the other. What is
overridden is private to Dagster: versions it was not tested with get Dagster's own behaviour.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any, Self, TypeAlias

import dagster as dg
from dagster import DagsterEventType, DagsterInstance
from dagster._core.event_api import EventHandlerFn
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite.sqlite_event_log import (
    SqliteEventLogStorage,
    SqliteEventLogStorageWatchdog,
)
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import create_engine
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import QueuePool
from watchdog.events import FileSystemEvent, PatternMatchingEventHandler
from watchdog.observers import Observer

TESTED_DAGSTER_VERSIONS = frozenset({"1.13.21", "1.13.27"})
BATCH_SIZE_VARIABLE = "DAGSTER_EVENT_BATCH_SIZE"
_EVENTS_PER_TRANSACTION = 500
# The index, the run that is written, and the runs somebody looks at in the UI.
_KEPT_CONNECTIONS = 8
_READ_AFTER_SECONDS = 0.2
_IN_ONE_WRITE = frozenset(
    {
        DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
        DagsterEventType.ASSET_MATERIALIZATION,
        DagsterEventType.ASSET_OBSERVATION,
        DagsterEventType.ASSET_CHECK_EVALUATION,
    }
)

_Stored: TypeAlias = tuple[EventLogEntry, int]


class KeptEngines:
    """An engine with a single open connection for each of the SQLite files used last.

    Not safe for threads by itself.
    """

    def __init__(self, limit: int = _KEPT_CONNECTIONS) -> None:
        self._limit = limit
        self._engines: OrderedDict[Path, tuple[Engine, tuple[int, int] | None]] = OrderedDict()
        self._process = os.getpid()
        self._inherited: list[object] = []

    def engine(self, path: Path) -> tuple[Engine, bool]:
        """Return the engine of a file, and whether it is a new one."""
        self._forget_another_process()
        engine, identity = self._engines.pop(path, (None, None))
        current = _identity(path)
        if engine is not None and identity is not None and identity != current:
            # Written to a file that was deleted, events would be lost.
            engine.dispose()
            engine = None
        is_new = engine is None
        if engine is None:
            engine = _create_engine(path)
        self._engines[path] = (engine, current)
        while len(self._engines) > self._limit:
            _, (oldest, _) = self._engines.popitem(last=False)
            oldest.dispose()
        return engine, is_new

    def close(self) -> None:
        """Close all connections."""
        self._forget_another_process()
        while self._engines:
            _, (engine, _) = self._engines.popitem()
            engine.dispose()

    def _forget_another_process(self) -> None:
        # SQLite forbids to use a connection in a forked process, and closing it there too.
        if self._process != os.getpid():
            self._inherited.append(self._engines)
            self._engines = OrderedDict()
            self._process = os.getpid()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _create_engine(path: Path) -> Engine:
    return create_engine(
        f"sqlite:///{path}",
        poolclass=QueuePool,
        pool_size=1,
        connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS},
    )


class KeptSqliteEventLogStorage(SqliteEventLogStorage):
    """The event log, a file per run and an index of all runs, on connections that are kept."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._kept = KeptEngines()
        self._joined = threading.local()
        self._has_index_columns = False
        self._tables: set[str] = set()
        self._is_tested = dg.__version__ in TESTED_DAGSTER_VERSIONS
        super().__init__(base_dir, inst_data)

    def register_instance(self, instance: DagsterInstance) -> None:
        """Have Dagster hand over the planned events of a run in batches, here and in children."""
        super().register_instance(instance)
        if self.takes_batches:
            os.environ.setdefault(BATCH_SIZE_VARIABLE, str(_EVENTS_PER_TRANSACTION))

    @property
    def takes_batches(self) -> bool:
        """Whether a batch of events is stored in one write."""
        return self._is_tested

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        if not self._is_tested:
            with super()._connect(shard) as connection:
                yield connection
            return
        with self._db_lock:
            engine, is_new = self._kept.engine(Path(self.path_for_shard(shard)))
            if is_new or shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.connect() as connection, connection.begin():
                yield connection

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events, those of a run that follow each other in two transactions."""
        for (run_id, in_one_write), group in groupby(events, key=self._how_to_write):
            if in_one_write:
                self._store_in_one_write(run_id, list(group))
            else:
                for event in group:
                    self.store_event(event)

    def _how_to_write(self, event: EventLogEntry) -> tuple[str, bool]:
        return event.run_id, self._is_tested and event.dagster_event_type in _IN_ONE_WRITE

    def _store_in_one_write(self, run_id: str, events: Sequence[EventLogEntry]) -> None:
        rows = [self._event_to_row(event) for event in events]
        with self.run_connection(run_id) as connection:
            connection.execute(SqlEventLogStorageTable.insert(), rows)
        with self._joined_index_transaction() as connection:
            stored = [
                (event, _insert(connection, row)) for event, row in zip(events, rows, strict=True)
            ]
            checks = [pair for pair in stored if _is_check(pair[0])]
            assets = [pair for pair in stored if not _is_check(pair[0])]
            self._store_asset_event_tags(
                connection, [event for event, _ in assets], [event_id for _, event_id in assets]
            )
            for event, event_id in _last_of_each_asset(assets):
                self._store_asset_event(connection, event, event_id)
            for event, event_id in checks:
                self.store_asset_check_event(event, event_id)

    @contextmanager
    def _joined_index_transaction(self) -> Iterator[Connection]:
        """Have what this thread asks of the index until the end happen in one transaction."""
        with self.index_transaction() as connection:
            self._joined.connection = connection
            try:
                yield connection
            finally:
                self._joined.connection = None

    def index_connection(self) -> AbstractContextManager[Connection]:
        """Return a connection to the index of all runs."""
        joined = getattr(self._joined, "connection", None)
        return super().index_connection() if joined is None else nullcontext(joined)

    def has_table(self, table_name: str) -> bool:
        """Return whether the index has the table. Migrations add some, and take none away."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def _has_asset_key_index_cols_on_connection(self, conn: Connection) -> bool:
        if not (self._is_tested and self._has_index_columns):
            self._has_index_columns = super()._has_asset_key_index_cols_on_connection(conn)
        return self._has_index_columns

    def watch(self, run_id: str, cursor: str | None, callback: EventHandlerFn) -> None:
        """Call back for every event of a run that is written from now on, by whatever process."""
        if not self._is_tested:
            super().watch(run_id, cursor, callback)
            return
        observer: Any = self._obs
        if observer is None:
            observer = Observer()
            observer.start()
            self._obs = observer
        reader = SqliteEventLogStorageWatchdog(self, run_id, callback, cursor)
        watchdog = _WriteAheadLogWatchdog(reader, self.path_for_shard(run_id))
        watched = observer.schedule(watchdog, self._base_dir, recursive=True)
        self._watchers[run_id][callback] = (watchdog, watched)

    def dispose(self) -> None:
        """Close what is open."""
        super().dispose()
        with self._db_lock:
            self._kept.close()


class _WriteAheadLogWatchdog(PatternMatchingEventHandler):
    """Has new events of a run read a moment after its file or its write-ahead log has changed.

    Dagster's own looks at the file alone, which a connection that stays open leaves as it is until
    the next checkpoint. And the log changes shortly before what was written can be read.
    """

    def __init__(self, reader: SqliteEventLogStorageWatchdog, path: str) -> None:
        super().__init__(patterns=[path, f"{path}-wal"])
        self._reader = reader
        self._lock = threading.Lock()
        self._is_due = False
        self._changed_since = False

    def on_modified(self, event: FileSystemEvent) -> None:  # noqa: ARG002
        with self._lock:
            if self._is_due:
                self._changed_since = True
            else:
                self._read_later()

    def _read_later(self) -> None:
        self._is_due = True
        timer = threading.Timer(_READ_AFTER_SECONDS, self._read)
        timer.daemon = True
        timer.start()

    def _read(self) -> None:
        try:
            self._reader._process_log()
        finally:
            with self._lock:
                self._is_due = False
                if self._changed_since:
                    self._changed_since = False
                    self._read_later()


def _insert(connection: Connection, row: dict[str, Any]) -> int:
    key = connection.execute(SqlEventLogStorageTable.insert(), row).inserted_primary_key
    if key is None:
        raise RuntimeError("SQLite gave an event no number")
    return int(key[0])


def _is_check(event: EventLogEntry) -> bool:
    return event.dagster_event_type is DagsterEventType.ASSET_CHECK_EVALUATION


def _last_of_each_asset(stored: Iterable[_Stored]) -> Iterable[_Stored]:
    """Return what an asset's row keeps: of each kind of event, only the last one."""
    last = {
        (event.dagster_event_type, event.get_dagster_event().asset_key): (event, event_id)
        for event, event_id in stored
    }
    return last.values()


class KeptSqliteStorage(DagsterSqliteStorage):
    """Runs, events and schedules in SQLite, under `base_dir`, which is the instance's home."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        self._event_log_storage = KeptSqliteEventLogStorage(
            str(Path(base_dir) / "history" / "runs")
        )

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Return the storage that `dagster.yaml` describes."""
        return cls.from_local(inst_data=inst_data, **config_value)
