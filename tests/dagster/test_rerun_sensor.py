"""Rerunning failed tasks without being asked: when, how often, and which ones not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterInstance, DagsterRunStatus, build_sensor_context
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.dagster_assets.jobs import EvaluationJob, job_name
from orchestrator_assets.dagster_assets.rerun_sensor import build_rerun_sensor
from orchestrator_assets.dagster_assets.schedules import build_nightly_schedule
from orchestrator_assets.evaluation import load_evaluation

RERUN = job_name("trial_run", EvaluationJob.RERUN_FAILED)
RECORD_IDS = ["a", "b", "c"]


@dataclass
class Evenings:
    """An evaluation that is run and rerun, and a clock that is set by hand."""

    workbench: Workbench
    calls: FakeCalls
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    cursor: str | None = None

    def look(self) -> Any:
        job = self.workbench.definitions.resolve_job_def(RERUN)
        sensor = build_rerun_sensor(self.workbench.evaluation, [job], now=lambda: self.now)
        context = build_sensor_context(instance=self.workbench.instance, cursor=self.cursor)
        return sensor.evaluate_tick(context)

    def tick(self) -> Any:
        tick = self.look()
        self.cursor = tick.cursor
        return tick

    def wait(self, seconds: float = 700) -> None:
        self.now = datetime.now(UTC) + timedelta(seconds=seconds)

    def execute(self, tick: Any) -> None:
        (request,) = tick.run_requests
        config = request.run_config["ops"]["trial_run_rerun"]["config"]
        self.workbench.rerun_failed(config)


def asked_for(tick: Any) -> list[str]:
    return [
        key
        for request in tick.run_requests or []
        for key in request.run_config["ops"]["trial_run_rerun"]["config"]["task_keys"]
    ]


@pytest.fixture
def evenings(instance: DagsterInstance, tmp_path: Path) -> Evenings:
    """`a` fails for good and `c` once; by one attempt a run, so that causes do not pile up."""
    path = write_evaluation(tmp_path / "e", RECORD_IDS, max_attempts=1)
    calls = FakeCalls({"a": [Attempt.CUT_OFF], "c": [Attempt.MISSPOKEN, Attempt.GOOD]})
    return Evenings(Workbench(instance, load_evaluation(path), calls.create_run), calls)


def test_it_is_off_until_somebody_turns_it_on(evenings: Evenings) -> None:
    definitions = evenings.workbench.definitions
    sensor = definitions.resolve_sensor_def("trial_run_rerun_failed_records")
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED


def test_nothing_happens_before_the_first_run(evenings: Evenings) -> None:
    assert "has not been run yet" in evenings.tick().skip_message


def test_it_waits_after_the_last_run(evenings: Evenings) -> None:
    evenings.workbench.materialize()

    assert "waiting another" in evenings.tick().skip_message

    evenings.wait(590)
    assert "waiting another" in evenings.tick().skip_message
    evenings.wait(610)
    assert asked_for(evenings.tick()) == ["a", "c"]


def test_two_ticks_in_a_row_ask_once(evenings: Evenings) -> None:
    evenings.workbench.materialize()
    evenings.wait()

    assert asked_for(evenings.tick()) == ["a", "c"]
    assert "waiting another" in evenings.tick().skip_message


def test_two_daemons_ask_for_the_same_run(evenings: Evenings) -> None:
    evenings.workbench.materialize()
    evenings.wait()

    (first,), (second,) = evenings.look().run_requests, evenings.look().run_requests

    assert first.run_key == second.run_key


def test_a_rerun_that_failed_to_launch_is_asked_for_again_by_another_key(
    evenings: Evenings,
) -> None:
    evenings.workbench.materialize()
    evenings.wait()
    (lost,) = evenings.tick().run_requests
    evenings.wait(2_000)

    (again,) = evenings.tick().run_requests

    assert again.run_key != lost.run_key


@pytest.mark.parametrize("status", [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED])
def test_never_while_a_run_of_the_evaluation_is_going_on(
    evenings: Evenings, instance: DagsterInstance, status: DagsterRunStatus
) -> None:
    evenings.workbench.materialize()
    evenings.wait()
    instance.create_run_for_job(
        evenings.workbench.definitions.resolve_implicit_global_asset_job_def(),
        asset_selection=evenings.workbench.all_keys(),
        status=status,
    )

    assert "is going on" in evenings.tick().skip_message


def test_a_task_is_rerun_so_often_and_no_more(evenings: Evenings) -> None:
    workbench, limits = evenings.workbench, evenings.workbench.evaluation.dagster.reruns
    patient = limits.model_copy(update={"same_cause_limit": 50, "max_reruns": 2})
    settings = workbench.evaluation.dagster.model_copy(update={"reruns": patient})
    workbench.evaluation = workbench.evaluation.model_copy(update={"dagster": settings})
    workbench.materialize()
    asked = []
    for evening in range(1, 5):
        evenings.wait(evening * 1_000)
        tick = evenings.tick()
        asked.append(asked_for(tick))
        if tick.run_requests:
            evenings.execute(tick)

    assert asked == [["a", "c"], ["a"], [], []]
    assert "1 failed tasks are left to people; rerun 2 times: a" in tick.skip_message


def test_a_task_that_fails_by_the_same_cause_again_and_again_is_left_to_people(
    evenings: Evenings,
) -> None:
    evenings.workbench.materialize()
    for evening in (1, 2):
        evenings.wait(evening * 1_000)
        tick = evenings.tick()
        assert "a" in asked_for(tick)
        evenings.execute(tick)
    evenings.wait(3_000)

    tick = evenings.tick()

    assert not tick.run_requests
    assert "failed 3 times in a row by the same cause (transport): a" in tick.skip_message


def test_nothing_is_asked_for_when_all_is_well(evenings: Evenings) -> None:
    evenings.calls.plans.clear()
    evenings.workbench.materialize()
    evenings.wait()

    assert evenings.tick().skip_message == "no task of trial_run has failed"


def test_a_faulty_data_set_skips_the_tick_and_keeps_the_count(evenings: Evenings) -> None:
    evenings.workbench.materialize()
    evenings.wait()
    evenings.tick()
    before = evenings.cursor
    Path(evenings.workbench.evaluation.data_set).write_text("[")
    evenings.wait(2_000)

    tick = evenings.tick()

    assert "can't be parsed" in tick.skip_message
    assert evenings.cursor == before


def test_the_nightly_schedule_calls_every_task_again(evenings: Evenings) -> None:
    definitions = evenings.workbench.definitions
    job = definitions.resolve_job_def(job_name("trial_run", EvaluationJob.RUN_EVALUATION))
    schedule = build_nightly_schedule(evenings.workbench.evaluation, job)
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    time = datetime(2026, 1, 1, 2, tzinfo=UTC)
    context = dg.build_schedule_context(evenings.workbench.instance, time)

    (request,) = schedule.evaluate_tick(context).run_requests or ()

    assert request.run_key == "2026-01-01T02:00:00+00:00"
    config = request.run_config["ops"]["trial_run_run"]["config"]
    assert config == {"task_keys": RECORD_IDS, "force": True}


def test_the_nightly_schedule_skips_while_a_run_is_going_on(
    evenings: Evenings, instance: DagsterInstance
) -> None:
    definitions = evenings.workbench.definitions
    job = definitions.resolve_job_def(job_name("trial_run", EvaluationJob.RUN_EVALUATION))
    instance.create_run_for_job(job, status=DagsterRunStatus.STARTED)
    schedule = build_nightly_schedule(evenings.workbench.evaluation, job)
    context = dg.build_schedule_context(instance, datetime(2026, 1, 1, 2, tzinfo=UTC))

    assert "is going on" in (schedule.evaluate_tick(context).skip_message or "")
