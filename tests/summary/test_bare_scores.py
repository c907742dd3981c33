"""Scores read without their evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stored_runs import numbered_tasks, scored, write_stored_run

from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores, read_scores
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.bare_scores import read_bare_scores
from orchestrator_assets.summary.task_state import TaskState, read_task_state


def test_everything_but_the_details_is_there(tmp_path: Path) -> None:
    merge_scores(
        tmp_path,
        "ü",
        {
            "a": MetricScore(name="a", score=3.0, normalized_score=1.0, details={"long": "x"}),
            "b": MetricScore(name="b", error="keine Antwort", details={"reason": "y"}),
            "c": MetricScore(name="c", skipped=True, version="2", latest_error="later"),
        },
    )

    bare, whole = read_bare_scores(tmp_path), read_scores(tmp_path)

    for name, score in whole.items():
        assert bare[name].model_dump() == {**score.model_dump(), "details": {}}
    assert bare.keys() == whole.keys()


def test_no_file_has_no_scores_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    assert read_bare_scores(tmp_path) == {}
    (tmp_path / "metrics.json").write_text('{"metrics": {"a": {"score": "high"}}}')
    with pytest.raises(ConversationFileError, match="a is not a score"):
        read_bare_scores(tmp_path)


def test_json_that_only_the_slower_parser_takes_is_read(tmp_path: Path) -> None:
    text = json.dumps({"metrics": {"a": {"name": "a", "score": 1.0, "error": "\ud800"}}})
    (tmp_path / "metrics.json").write_text(text, encoding="utf-8")

    assert read_bare_scores(tmp_path)["a"].score == 1.0


def test_a_task_stands_the_same_with_and_without_details(tmp_path: Path) -> None:
    [one] = numbered_tasks(1)
    write_stored_run(tmp_path, [one], lambda _: {"m": scored("m", 0.5)})
    run_directory = RunDirectory(tmp_path)

    whole = read_task_state(run_directory, one)
    bare = read_task_state(run_directory, one, details=False)

    assert whole.scores["m"].details != {}
    assert bare.scores["m"].details == {}
    assert shown(bare) == shown(whole)


def shown(state: TaskState) -> dict[str, object]:
    return {
        "status": state.status,
        "accepted": state.accepted,
        "result": state.result,
        "outcomes": [attempt.outcome for attempt in state.history.finished],
        "scores": {name: score.score for name, score in state.scores.items()},
    }
