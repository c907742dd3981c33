"""Where data sets may lie: a file, a folder, a URL."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import fsspec
import pytest

from orchestrator_assets.data_source import (
    as_data_source,
    read_source,
    shown_source,
    source_name,
)
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.records import load_records


def write(path: Path, *ids: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([{"id": each} for each in ids]), encoding="utf-8")
    return path


def ids(source: Path | str) -> list[str]:
    return [record.id for record in load_records(source)]


def faults(source: Path | str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_records(source)
    return str(caught.value)


def test_a_folder_is_all_its_data_sets_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path / "b.json", "second")
    (tmp_path / "a.yaml").write_text("- id: first")
    (tmp_path / "c.jsonl").write_text('{"id": "third"}\n')
    (tmp_path / "notes.txt").write_text("not a data set")
    write(tmp_path / ".b.json.part.json", "half-written")
    write(tmp_path / "deeper" / "d.json", "elsewhere")

    assert ids(tmp_path) == ["first", "second", "third"]


def test_an_id_in_two_files_is_refused_and_both_are_named(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1.json", "a", "b"), write(tmp_path / "2.json", "b")

    assert f"{first}: record 'b': the id stands in {second} too" in faults(tmp_path)


def test_ids_of_two_files_that_differ_in_case_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "1.json", "a")
    write(tmp_path / "2.json", "A")

    assert "only in case" in faults(tmp_path)


def test_the_faults_of_all_files_are_listed(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text("[")
    (tmp_path / "2.json").write_text('[{"id": ""}]')

    text = faults(tmp_path)

    assert "1.json: can't be parsed" in text
    assert "2.json: record number 1, id" in text


def test_an_empty_file_beside_others_is_no_fault(tmp_path: Path) -> None:
    write(tmp_path / "1.json")
    write(tmp_path / "2.json", "a")

    assert ids(tmp_path) == ["a"]


def test_a_folder_without_a_data_set_says_what_it_lacks(tmp_path: Path) -> None:
    assert "holds no data set; put in a file of .json" in faults(tmp_path)


def test_a_url_is_read_wherever_fsspec_can(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/records.jsonl"
    with fsspec.open(url, "w") as file:
        file.write('{"id": "a"}\n{"id": "b"}\n')

    assert ids(url) == ["a", "b"]


def test_a_folder_may_be_a_url(tmp_path: Path) -> None:
    for name in ("2.json", "1.json"):
        with fsspec.open(f"memory://{tmp_path.name}/folder/{name}", "w") as file:
            file.write(json.dumps([{"id": name}]))

    assert ids(f"memory://{tmp_path.name}/folder") == ["1.json", "2.json"]


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", "a")

    assert as_data_source(f"file://{path}") == path


def test_a_url_that_is_not_there_says_so_without_its_secrets() -> None:
    url = "memory://user:password@host/none.json?signature=secret"

    text = faults(url)

    assert "can't be read" in text
    assert "password" not in text
    assert "secret" not in text
    assert shown_source(url) == "memory://host/none.json"
    assert source_name(url) == "none.json"


def test_an_unknown_kind_of_url_names_it() -> None:
    assert "nonsense://x/y.json" in faults("nonsense://x/y.json")


def test_the_hash_is_of_the_content_and_of_a_folders_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", "a")
    alone = read_source(path).sha256
    assert alone == hashlib.sha256(path.read_bytes()).hexdigest()
    write(tmp_path / "b.json", "b")
    two = read_source(tmp_path).sha256

    (tmp_path / "b.json").rename(tmp_path / "c.json")

    assert len({alone, two, read_source(tmp_path).sha256}) == 3


def test_an_evaluation_may_name_a_folder_or_a_url(tmp_path: Path) -> None:
    write(tmp_path / "records" / "1.json", "a")
    path = tmp_path / "evaluation.yaml"
    text = "name: e\nagent: {url: 'ws://127.0.0.1:9/'}\ndata_set: "

    path.write_text(text + "records")
    assert [task.id for task in load_evaluation(path).load_tasks()] == ["a"]
    path.write_text(text + "s3://bucket/records.json?versionId=1")
    assert load_evaluation(path).data_set == "s3://bucket/records.json?versionId=1"
    path.write_text(text + "nowhere")
    with pytest.raises(ConfigurationError, match="there is no file"):
        load_evaluation(path)
