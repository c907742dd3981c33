"""Archives: never overwritten, never nested (A7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.archive import archive_path, move_directory


def directory(path: Path, content: str) -> Path:
    path.mkdir(parents=True)
    (path / "file").write_text(content)
    return path


def test_an_archive_lies_beside_the_tasks_directory() -> None:
    assert archive_path(Path("records/a"), 3) == Path("records/a_failed_attempt_3")
    assert archive_path(Path("records/a/trial_0"), 1) == Path("records/a/trial_0_failed_attempt_1")


def test_moves_a_directory_with_all_it_holds(tmp_path: Path) -> None:
    source = directory(tmp_path / "a", "content")

    move_directory(source, tmp_path / "b")

    assert not source.exists()
    assert (tmp_path / "b" / "file").read_text() == "content"


def test_never_moves_onto_what_is_there(tmp_path: Path) -> None:
    source = directory(tmp_path / "a", "new")
    target = directory(tmp_path / "a_failed_attempt_1", "old")

    with pytest.raises(RunDirectoryError, match="is there already"):
        move_directory(source, target)

    assert (source / "file").read_text() == "new"
    assert [path.name for path in target.iterdir()] == ["file"]
    assert (target / "file").read_text() == "old"


def test_an_empty_directory_gives_way(tmp_path: Path) -> None:
    source = directory(tmp_path / "a", "content")
    (tmp_path / "b").mkdir()

    move_directory(source, tmp_path / "b")

    assert (tmp_path / "b" / "file").read_text() == "content"
