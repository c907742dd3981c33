"""Files that are never half there (S1)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from orchestrator_assets.store.atomic import write_bytes, write_json, write_text


def test_writes_what_it_is_given_and_makes_the_directory(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "file.txt"

    write_text(path, "ü\n")

    assert path.read_bytes() == b"\xc3\xbc\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.json"
    write_text(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new")

    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_a_value_that_is_no_json_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"kept": True})

    with pytest.raises(TypeError):
        write_json(path, {"bad": object()})

    assert json.loads(path.read_text(encoding="utf-8")) == {"kept": True}


def test_content_is_on_disk_before_its_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(descriptor: int) -> None:
        steps.append("directory" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")  # noqa: PTH112
        fsync(descriptor)

    def note_replace(self: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", note_replace)

    write_bytes(tmp_path / "a", b"x")

    assert steps == ["file", "rename", "directory"]


def test_json_keeps_non_ascii_text_readable(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"name": "Łukasz 😀 \u2028"})

    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert "Łukasz 😀" in text
    assert json.loads(text) == {"name": "Łukasz 😀 \u2028"}


def test_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"lone": "a\ud800b", "pair": "\ud83d\ude00"})

    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert written == {"lone": "a\ufffdb", "pair": "😀"}


def test_numbers_json_lacks_become_null(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"scores": [1.5, float("nan"), float("inf")]})

    assert json.loads((tmp_path / "a.json").read_text()) == {"scores": [1.5, None, None]}


def test_a_new_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")

    write_text(tmp_path / "atomic", "x")

    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_name_of_the_greatest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)

    write_text(path, "x")

    assert path.read_text() == "x"
