"""One writer per task (S4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.lock import STALE_AFTER_SECONDS, TaskLocks, read_holder


def leave_lock(directory: Path, **changes: object) -> Path:
    """Leave the lock of this process behind, with some of it changed."""
    TaskLocks(directory, "earlier").acquire("a")
    path = directory / "a.lock"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


def holder(directory: Path, key: str) -> str:
    found = read_holder(directory / f"{key}.lock")
    assert found is not None
    return str(found["run_id"])


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    TaskLocks(tmp_path, "first").acquire("a")

    with pytest.raises(RunDirectoryError, match=rf"run first .* \(process {os.getpid()}, since"):
        TaskLocks(tmp_path, "second").acquire("a")


def test_tasks_are_locked_one_by_one(tmp_path: Path) -> None:
    TaskLocks(tmp_path, "first").acquire("a")

    TaskLocks(tmp_path, "second").acquire("b:trial_0")

    assert [holder(tmp_path, key) for key in ("a", "b:trial_0")] == ["first", "second"]


def test_a_released_lock_is_free(tmp_path: Path) -> None:
    first = TaskLocks(tmp_path, "first")
    first.acquire("a")
    first.release("a")

    TaskLocks(tmp_path, "second").acquire("a")

    assert holder(tmp_path, "a") == "second"


def test_releasing_what_is_not_held_leaves_the_holder_alone(tmp_path: Path) -> None:
    TaskLocks(tmp_path, "first").acquire("a")
    TaskLocks(tmp_path, "second").release("a")

    with pytest.raises(RunDirectoryError):
        TaskLocks(tmp_path, "third").acquire("a")


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, sys;"
        "from orchestrator_assets.store.lock import TaskLocks;"
        "TaskLocks(pathlib.Path(sys.argv[1]), 'killed').acquire('a');"
        "os._exit(9)"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        check=False,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert json.loads((tmp_path / "a.lock").read_text())["run_id"] == "killed"

    TaskLocks(tmp_path, "next").acquire("a")

    assert json.loads((tmp_path / "a.lock").read_text())["run_id"] == "next"


def test_a_process_number_that_went_to_another_process_is_not_the_holder(tmp_path: Path) -> None:
    leave_lock(tmp_path, process_start="1")

    TaskLocks(tmp_path, "next").acquire("a")

    assert holder(tmp_path, "a") == "next"


def test_a_holder_on_another_host_lives_as_long_as_its_heartbeat(tmp_path: Path) -> None:
    path = leave_lock(tmp_path, host="elsewhere")
    with pytest.raises(RunDirectoryError, match="on elsewhere"):
        TaskLocks(tmp_path, "next").acquire("a")

    stale = time.time() - STALE_AFTER_SECONDS - 1
    os.utime(path, (stale, stale))

    TaskLocks(tmp_path, "next").acquire("a")


def test_the_heartbeat_touches_what_is_held(tmp_path: Path) -> None:
    locks = TaskLocks(tmp_path, "run")
    locks.acquire("a")
    os.utime(tmp_path / "a.lock", (0, 0))

    locks.beat()

    assert time.time() - (tmp_path / "a.lock").stat().st_mtime < 60


def test_a_torn_lock_belongs_to_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text('{"host": "he')

    TaskLocks(tmp_path, "next").acquire("a")

    assert holder(tmp_path, "a") == "next"


def test_of_many_at_once_only_one_gets_a_dead_holders_lock(tmp_path: Path) -> None:
    leave_lock(tmp_path, process_start="1")

    def attempt(number: int) -> bool:
        try:
            TaskLocks(tmp_path, f"run-{number}").acquire("a")
        except RunDirectoryError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(16))) == 1
