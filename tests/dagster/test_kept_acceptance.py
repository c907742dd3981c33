"""A run that fails before it comes to a task takes nothing from what is accepted on disk."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.dagster_assets.jobs import EvaluationJob
from orchestrator_assets.dagster_assets.keys import TaskAsset, task_asset_key
from orchestrator_assets.dagster_assets.on_disk import accepted_on_disk
from orchestrator_assets.errors import PreflightError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.metrics.selection import MetricSelection
from orchestrator_assets.records import Task

ALL = tuple(f"record_{number}" for number in range(5))
BUT_SECOND = tuple(key for key in ALL if key != "record_1")


class NoAgent:
    """Makes runs that find at once that nobody can be called."""

    def create_run(
        self,
        evaluation: Evaluation,
        tasks: Iterable[Task],
        *,
        mode: AttemptMode,
        run_id: str,
        metric_selection: MetricSelection | None,
    ) -> EvaluationRun:
        raise PreflightError("the agent does not answer")


@pytest.fixture
def without_agent(workbench: Workbench, calls: FakeCalls) -> Workbench:
    """All tasks are settled, the second one failed; from now on the agent is down."""
    calls.plans = {"record_1": [Attempt.CUT_OFF]}
    workbench.materialize()
    return Workbench(workbench.instance, workbench.evaluation, NoAgent().create_run)


def test_a_range_run_that_can_not_call_leaves_accepted_partitions_materialised(
    without_agent: Workbench,
) -> None:
    result = without_agent.materialize()

    assert "the agent does not answer" in without_agent.failure_message(result.run_id)
    assert without_agent.statuses() == {(BUT_SECOND, ("record_1",))}
    key = task_asset_key("trial_run", TaskAsset.METRICS)
    metadata = without_agent.latest(key, "record_0").metadata
    assert metadata["reused"].value is True
    assert metadata["task_completion"].value == 1.0


def test_a_job_that_can_not_call_leaves_accepted_partitions_materialised(
    without_agent: Workbench,
) -> None:
    assert not without_agent.run_job(EvaluationJob.RUN_EVALUATION).success
    assert without_agent.statuses() == {(BUT_SECOND, ("record_1",))}


def test_what_is_on_disk_is_known_by_its_key_alone(without_agent: Workbench) -> None:
    outcomes = list(accepted_on_disk(without_agent.evaluation, [*ALL, "never_heard_of"]))

    assert [outcome.task.key for outcome in outcomes] == list(BUT_SECOND)
    assert all(outcome.reused and outcome.accepted_attempt == 1 for outcome in outcomes)
