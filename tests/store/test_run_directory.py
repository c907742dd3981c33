"""Where everything lies (DESIGN part 3)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.run_directory import RunDirectory

SINGLE = Task(Record(id="1.1.2"))
TRIAL = Task(Record(id="a/b"), trial=2)


def test_lies_where_evas_tools_look_for_it(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)

    assert run.task_directory(SINGLE) == tmp_path / "records/1.1.2"
    assert run.archive_directory(SINGLE, 3) == tmp_path / "records/1.1.2_failed_attempt_3"
    assert run.config_path == tmp_path / "config.json"
    assert run.evaluation_summary_path == tmp_path / "evaluation_summary.json"
    assert run.metrics_summary_path == tmp_path / "metrics_summary.json"
    assert run.results_path == tmp_path / "results.csv"
    assert run.journal(SINGLE).path == tmp_path / "journal/1.1.2.jsonl"


def test_trials_lie_below_their_record_under_its_encoded_name(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)

    assert run.task_directory(TRIAL) == tmp_path / "records/a@2Fb/trial_2"
    assert run.archive_directory(TRIAL, 1) == tmp_path / "records/a@2Fb/trial_2_failed_attempt_1"
    assert run.journal(TRIAL).path == tmp_path / "journal/a@2Fb:trial_2.jsonl"


@pytest.mark.parametrize(
    "record_id",
    ["../../etc", "..", "/", "a/../b", "x_failed_attempt_1", "x_trial_0", "ü" * 200, "a\0b", "."],
)
def test_no_id_leaves_the_run_directory_or_looks_like_an_archive(
    tmp_path: Path, record_id: str
) -> None:
    run = RunDirectory(tmp_path)
    task = Task(Record(id=record_id))

    directory = run.task_directory(task)

    assert directory.resolve().parent == (tmp_path / "records").resolve()
    assert "_failed_attempt_" not in directory.name
    run.journal(task).append({"event": "started"})
    assert run.journal(task).path.resolve().parent == (tmp_path / "journal").resolve()


def test_making_one_touches_no_file(tmp_path: Path) -> None:
    RunDirectory(tmp_path / "run")

    assert list(tmp_path.iterdir()) == []


def test_config_is_written_as_readable_json(tmp_path: Path) -> None:
    RunDirectory(tmp_path).write_config({"name": "café", "provenance": {}})

    text = (tmp_path / "config.json").read_text(encoding="utf-8")
    assert "café" in text
    assert json.loads(text) == {"name": "café", "provenance": {}}


def test_several_trials_are_not_mixed_with_one(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.task_directory(Task(SINGLE.record, trial=0)).mkdir(parents=True)

    with pytest.raises(ConfigurationError, match=r"'1\.1\.2'.*with several trials before"):
        run.check_layout([SINGLE])


def test_one_trial_is_not_mixed_with_several(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.task_directory(SINGLE).mkdir(parents=True)
    (run.task_directory(SINGLE) / "result.json").write_text("{}")

    with pytest.raises(ConfigurationError, match="with a single trial before"):
        run.check_layout([Task(SINGLE.record, trial=0), Task(SINGLE.record, trial=1)])


def test_archives_of_trials_do_not_make_a_layout_mixed(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.archive_directory(TRIAL, 1).mkdir(parents=True)

    run.check_layout([TRIAL, SINGLE])
