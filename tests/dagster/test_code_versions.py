"""A metric or a judge that changes makes what it scored stale, and nothing else."""

from __future__ import annotations

import dataclasses

import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls

from orchestrator_assets.dagster_assets.code_versions import code_version, version_tags
from orchestrator_assets.dagster_assets.jobs import EvaluationJob
from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    evaluation_summary_key,
    task_asset_key,
)
from orchestrator_assets.dagster_assets.on_disk import accepted_on_disk
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.metrics.response_latency import ResponseLatency
from orchestrator_assets.metrics.task_completion import TaskCompletion
from orchestrator_assets.validation import behavioral_fidelity, gate, speech_fidelity

KEY = "record_0"


def resolver_of(workbench: Workbench) -> CachingStaleStatusResolver:
    """Return what a webserver asks that loads the code as it is now."""
    now = Workbench(workbench.instance, workbench.evaluation, FakeCalls().create_run)
    return CachingStaleStatusResolver(
        instance=now.instance,
        asset_graph=now.definitions.resolve_asset_graph(),
        loading_context=LoadingContextForTest(now.instance),
    )


def stale(workbench: Workbench) -> dict[TaskAsset, list[str]]:
    """Return what a webserver says of a task's assets."""
    resolver = resolver_of(workbench)
    statuses = {}
    for asset in TaskAsset:
        key = task_asset_key("trial_run", asset)
        if resolver.get_status(key, KEY) is not StaleStatus.FRESH:
            statuses[asset] = [cause.reason for cause in resolver.get_stale_causes(key, KEY)]
    return statuses


@pytest.fixture
def settled(workbench: Workbench) -> Workbench:
    assert workbench.materialize().success
    assert stale(workbench) == {}
    return workbench


def test_the_versions_are_those_of_the_metrics_and_the_judges(evaluation: Evaluation) -> None:
    both = evaluation.model_copy(update={"metrics": ("task_completion", "response_latency")})

    assert code_version(both, TaskAsset.METRICS) == (
        f"task_completion {TaskCompletion.code_version}, "
        f"response_latency {ResponseLatency.code_version}"
    )
    assert code_version(both, TaskAsset.VALIDATION) == (
        f"conversation_valid_end {gate.VERSION}, "
        f"user_behavioral_fidelity {behavioral_fidelity.VERSION}, "
        f"user_speech_fidelity {speech_fidelity.VERSION}"
    )
    assert code_version(evaluation.model_copy(update={"metrics": ()}), TaskAsset.METRICS) == "none"


def test_a_task_that_failed_does_not_make_the_summary_stale(
    workbench: Workbench, calls: FakeCalls
) -> None:
    calls.plans[KEY] = [Attempt.MISSPOKEN]
    assert not workbench.materialize().success
    summary = evaluation_summary_key("trial_run")
    assert resolver_of(workbench).get_status(summary) is StaleStatus.FRESH


def test_a_changed_metric_makes_the_metrics_stale_until_they_are_computed_again(
    settled: Workbench, calls: FakeCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TaskCompletion, "code_version", "next")

    assert stale(settled) == {TaskAsset.METRICS: ["has a new code version"]}

    assert settled.run_job(EvaluationJob.RECOMPUTE_METRICS).success
    assert stale(settled) == {}


def test_a_reused_conversation_does_not_pass_for_scored_again(
    settled: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TaskCompletion, "code_version", "next")

    assert settled.materialize(config={"max_attempts": 0}).success
    assert stale(settled) == {TaskAsset.METRICS: ["has a new code version"]}


def test_a_changed_judge_makes_the_validation_stale_until_it_judges_again(
    settled: Workbench, calls: FakeCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech_fidelity, "VERSION", "next")

    assert stale(settled) == {TaskAsset.VALIDATION: ["has a new code version"]}

    assert settled.materialize(assets=[TaskAsset.VALIDATION]).success
    assert stale(settled) == {}


def test_a_metric_that_was_added_since_makes_the_metrics_stale(settled: Workbench) -> None:
    settled.evaluation = settled.evaluation.model_copy(
        update={"metrics": ("task_completion", "response_latency")}
    )

    assert stale(settled) == {TaskAsset.METRICS: ["has a new code version"]}


def test_the_data_version_changes_with_what_the_asset_holds(settled: Workbench) -> None:
    (outcome,) = accepted_on_disk(settled.evaluation, [KEY])
    other = dataclasses.replace(outcome, metrics={})

    for asset in TaskAsset:
        before, after = (
            version_tags(settled.evaluation, asset, each)["dagster/data_version"]
            for each in (outcome, other)
        )
        assert (before != after) == (asset in (TaskAsset.METRICS, TaskAsset.RECORD_SUMMARY))
