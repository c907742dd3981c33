from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores, read_scores


def document(directory: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((directory / "metrics.json").read_text(encoding="utf-8"))
    return value


def score(name: str, value: float | None = 1.0, **fields: Any) -> MetricScore:
    return MetricScore(name=name, score=value, **fields)


def test_a_directory_without_scores_has_none(tmp_path: Path) -> None:
    assert read_scores(tmp_path) == {}


def test_scores_are_written_in_evas_shape_and_read_back(tmp_path: Path) -> None:
    scores = {"a": score("a", details={"heard": "Grüße"}), "b": score("b", None, error="broken")}
    merge_scores(tmp_path, "Müller 7/8", scores)
    assert set(document(tmp_path)) == {"record_id", "context", "metrics", "aggregate_metrics"}
    assert document(tmp_path)["record_id"] == "Müller 7/8"
    assert "Grüße" in (tmp_path / "metrics.json").read_text(encoding="utf-8")
    assert read_scores(tmp_path) == scores


def test_a_merge_replaces_its_own_scores_and_keeps_all_else(tmp_path: Path) -> None:
    evas: dict[str, Any] = {
        "record_id": "r",
        "context": {"turns": 3},
        "metrics": {
            "faithfulness": {"name": "faithfulness", "score": 3, "prompt_hash": "12ab"},
            "own": {"name": "own", "score": 0.0},
        },
        "aggregate_metrics": {"EVA-A_pass": 1.0},
        "later_field": [1],
    }
    (tmp_path / "metrics.json").write_text(json.dumps(evas), encoding="utf-8")
    merge_scores(tmp_path, "r", {"own": score("own", 0.5)})
    merged = document(tmp_path)
    assert merged["metrics"]["own"]["score"] == 0.5
    del merged["metrics"]["own"], evas["metrics"]["own"]
    assert merged == evas


def test_merges_from_many_threads_lose_nothing(tmp_path: Path) -> None:
    names = [f"metric_{number}" for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: merge_scores(tmp_path, "r", {name: score(name)}), names))
    assert set(read_scores(tmp_path)) == set(names)


@pytest.mark.parametrize("content", ["{", "[]", '{"metrics": null}', "\udcff"])
def test_a_damaged_file_is_named_on_reading_and_set_aside_on_merging(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "metrics.json"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ConversationFileError, match=r"metrics\.json"):
        read_scores(tmp_path)
    with caplog.at_level(logging.WARNING):
        merge_scores(tmp_path, "r", {"a": score("a")})
    assert set(read_scores(tmp_path)) == {"a"}
    assert (tmp_path / "metrics.json.damaged").exists()
    assert "set aside" in caplog.text


def test_a_score_that_is_none_is_named(tmp_path: Path) -> None:
    content = json.dumps({"metrics": {"a": {"score": "high"}}})
    (tmp_path / "metrics.json").write_text(content, encoding="utf-8")
    with pytest.raises(ConversationFileError, match="a is not a score"):
        read_scores(tmp_path)


def test_an_error_keeps_the_earlier_score_and_whatever_other_tools_wrote_into_it(
    tmp_path: Path,
) -> None:
    earlier = {**score("a", 0.5, version="1").model_dump(mode="json"), "sub_metrics": {"x": 1}}
    evas = {"record_id": "r", "metrics": {"a": earlier}, "context": {"turns": 3}}
    (tmp_path / "metrics.json").write_text(json.dumps(evas), encoding="utf-8")

    standing = merge_scores(tmp_path, "r", {"a": score("a", None, error="no answer", version="2")})

    assert standing == {"a": score("a", 0.5, version="1", latest_error="no answer")}
    assert document(tmp_path) == {
        **evas,
        "metrics": {"a": {**earlier, "latest_error": "no answer"}},
    }


def test_the_next_score_replaces_the_kept_one_and_its_latest_error(tmp_path: Path) -> None:
    for each in (score("a", 0.5), score("a", None, error="no answer"), score("a", 0.75)):
        standing = merge_scores(tmp_path, "r", {"a": each})

    assert standing == read_scores(tmp_path) == {"a": score("a", 0.75)}


def test_a_kept_score_says_the_latest_of_several_errors(tmp_path: Path) -> None:
    for each in (score("a", 0.5), *(score("a", None, error=error) for error in ("first", "last"))):
        merge_scores(tmp_path, "r", {"a": each})

    assert read_scores(tmp_path) == {"a": score("a", 0.5, latest_error="last")}


@pytest.mark.parametrize(
    "earlier",
    [score("a", None, error="before"), score("a", None, skipped=True), {"score": "high"}, None],
)
def test_an_error_replaces_an_earlier_error_and_what_was_skipped_or_is_no_score(
    tmp_path: Path, earlier: Any
) -> None:
    held = earlier.model_dump(mode="json") if isinstance(earlier, MetricScore) else earlier
    (tmp_path / "metrics.json").write_text(json.dumps({"metrics": {"a": held}}), encoding="utf-8")

    merge_scores(tmp_path, "r", {"a": score("a", None, error="now")})

    assert read_scores(tmp_path) == {"a": score("a", None, error="now")}


def test_what_no_longer_applies_replaces_the_earlier_score(tmp_path: Path) -> None:
    for each in (score("a", 0.5), score("a", None, skipped=True)):
        merge_scores(tmp_path, "r", {"a": each})

    assert read_scores(tmp_path)["a"].skipped
