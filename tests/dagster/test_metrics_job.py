"""The job that computes metrics again: which ones, which of their scores, and on which tasks."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from dagster import DagsterInstance
from dagster_workbench import Config, Workbench
from evaluation_fakes import FakeCalls, write_evaluation
from metric_packages import install_mood

from orchestrator_assets.dagster_assets.jobs import EvaluationJob, job_name
from orchestrator_assets.dagster_assets.keys import TaskAsset
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import read_scores

RECORD_IDS = ["a", "b", "c"]


class Scored:
    """Three accepted and scored conversations, a judge's mood for a metric."""

    def __init__(self, workbench: Workbench, calls: FakeCalls, mood: ModuleType) -> None:
        self.workbench = workbench
        self.calls = calls
        self.mood = mood

    def job(self, config: Config | None = None) -> str | None:
        """Run the job, and return why it failed if it did."""
        self.mood.COMPUTED.clear()
        result = self.workbench.run_job(EvaluationJob.RECOMPUTE_METRICS, config)
        return None if result.success else self.workbench.failure_message(result.run_id)

    def scores(self, record_id: str) -> dict[str, MetricScore]:
        return read_scores(self.workbench.evaluation.run_directory / "records" / record_id)


@pytest.fixture
def scored(instance: DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scored:
    mood = install_mood(tmp_path, monkeypatch)
    calls = FakeCalls(real_metrics=True)
    path = write_evaluation(tmp_path / "mine", RECORD_IDS, metrics=["mood", "task_completion"])
    workbench = Workbench(instance, load_evaluation(path), calls.create_run)
    assert workbench.materialize().success
    calls.placed.clear()
    return Scored(workbench, calls, mood)


def test_by_default_all_scores_are_computed_and_nobody_is_called(scored: Scored) -> None:
    scored.mood.ANSWERS["b"] = 0.25

    assert scored.job() is None

    assert sorted(scored.mood.COMPUTED) == RECORD_IDS
    assert scored.scores("b")["mood"].score == 0.25
    assert scored.calls.placed == []


def test_only_failed_scores_are_computed_where_they_are_asked_for(scored: Scored) -> None:
    scored.mood.ANSWERS["b"] = ValueError("no luck")
    assert scored.job() is None
    before = {each: scored.scores(each) for each in RECORD_IDS}
    assert before["b"]["mood"].latest_error == "ValueError: no luck"
    scored.mood.ANSWERS["b"] = 0.5

    assert scored.job({"scores": "failed"}) is None

    assert scored.mood.COMPUTED == ["b"]
    assert scored.scores("b")["mood"].score == 0.5
    after = {each: scored.scores(each) for each in RECORD_IDS}
    del before["b"]["mood"], after["b"]["mood"]
    assert after == before


def test_only_the_named_metrics_of_the_named_records_are_computed(scored: Scored) -> None:
    scored.mood.ANSWERS |= dict.fromkeys(RECORD_IDS, 0.5)

    assert scored.job({"metric_names": ["task_completion"]}) is None
    assert scored.mood.COMPUTED == []
    assert scored.job({"metric_names": ["mood"], "record_ids": ["c"]}) is None

    assert scored.mood.COMPUTED == ["c"]
    assert [scored.scores(each)["mood"].score for each in RECORD_IDS] == [1.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"metric_names": ["speed"]}, "run config, metric_names: 'speed' is not in `metrics` of"),
        ({"metric_names": []}, "run config, metric_names: is empty"),
        ({"scores": "some"}, "run config, scores: 'some' can't be used; choose one of lacking"),
    ],
)
def test_what_can_not_be_computed_fails_clearly_and_computes_nothing(
    scored: Scored, config: Config, fault: str
) -> None:
    assert fault in str(scored.job(config))
    assert scored.mood.COMPUTED == []


def test_the_launchpad_describes_what_can_be_chosen(scored: Scored) -> None:
    job = scored.workbench.definitions.resolve_job_def(
        job_name("trial_run", EvaluationJob.RECOMPUTE_METRICS)
    )
    (node,) = job.nodes
    fields = node.definition.config_schema.config_type.fields  # type: ignore[attr-defined]

    assert set(fields) == {"task_keys", "record_ids", "metric_names", "scores"}
    for choice in ("lacking", "failed", "outdated", "all"):
        assert f"`{choice}`" in fields["scores"].description


def test_the_metrics_asset_alone_computes_every_score_again(scored: Scored) -> None:
    scored.mood.COMPUTED.clear()

    assert scored.workbench.materialize(assets=[TaskAsset.METRICS]).success

    assert sorted(scored.mood.COMPUTED) == RECORD_IDS
    assert scored.calls.placed == []


def test_a_run_computes_only_what_is_lacking(scored: Scored) -> None:
    scored.mood.COMPUTED.clear()

    assert scored.workbench.materialize().success

    assert scored.mood.COMPUTED == []
