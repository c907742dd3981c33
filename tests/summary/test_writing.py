"""Writing the summaries of a directory that several runs may work on (S4)."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from scripted_world import World, task

from orchestrator_assets.store import atomic
from orchestrator_assets.summary.writing import write_summaries


async def test_whoever_writes_the_summaries_keeps_all_others_from_writing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.settle(task("a"))
    written: list[str] = []
    write_bytes = atomic.write_bytes

    def write_while_nobody_else_can(path: Path, content: bytes) -> None:
        lock = world.run_directory.locks_path / ".summaries"
        with lock.open("ab") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        written.append(path.name)
        write_bytes(path, content)

    monkeypatch.setattr(atomic, "write_bytes", write_while_nobody_else_can)

    write_summaries(world.run_directory, [task("a")])

    assert written == ["evaluation_summary.json", "metrics_summary.json", "results.csv"]
