"""Stopping a run that is live: by signal, as Ctrl-C does, and from the UI."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance, DagsterRunStatus
from dagster_workbench import Workbench
from evaluation_fakes import FakeCalls, write_evaluation

from orchestrator_assets.dagster_assets.instance import HOME_VARIABLE, prepare_dagster_home
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import failed_tasks

TESTS = Path(__file__).parents[1]
EXIT_LIMIT_SECONDS = 60

# Tasks are accepted at once, but for the second, whose call would never end by itself.
PROGRAM = """
from evaluation_fakes import Attempt, FakeCalls
from orchestrator_assets import cli
from orchestrator_assets.command_line import watched_run

calls = FakeCalls({"second": [Attempt.ENDLESS]})
watched_run.EvaluationRun = calls.create_run
try:
    cli.main()
finally:
    print("hung up:", *calls.hung_up)
"""


@pytest.fixture
def evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluation:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return load_evaluation(write_evaluation(tmp_path / "mine", ["first", "second", "third"]))


@pytest.fixture
def instance(evaluation: Evaluation) -> Iterator[DagsterInstance]:
    prepare_dagster_home()
    with DagsterInstance.get() as instance:
        yield instance


@pytest.fixture
def live_run(evaluation: Evaluation, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run in a process of its own, when the first and third task are done."""
    search_path = os.pathsep.join([str(TESTS.parent), str(TESTS), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", str(tmp_path / "mine" / "trial_run.yaml")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": search_path, "PYTHONUNBUFFERED": "1"},
    )
    try:
        wait_until_settled(process, 2)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def wait_until_settled(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdout is not None
    seen = []
    started, settled = False, 0
    for line in process.stdout:
        seen.append(line)
        started |= "second: attempt 1 started" in line
        settled += "accepted (validated)" in line
        if started and settled == count:
            return
    pytest.fail("".join(seen))


def interrupt(process: subprocess.Popen[str], instance: DagsterInstance) -> None:
    process.send_signal(signal.SIGINT)


def terminate(process: subprocess.Popen[str], instance: DagsterInstance) -> None:
    process.send_signal(signal.SIGTERM)


def mark_as_canceled(process: subprocess.Popen[str], instance: DagsterInstance) -> None:
    (run,) = instance.get_runs()
    instance.report_run_canceled(run)


@pytest.mark.parametrize("stop", [interrupt, terminate, mark_as_canceled])
def test_a_stopped_run_is_canceled_hung_up_summarised_and_can_be_taken_up_again(
    stop: Callable[[subprocess.Popen[str], DagsterInstance], None],
    live_run: subprocess.Popen[str],
    instance: DagsterInstance,
    evaluation: Evaluation,
) -> None:
    stop(live_run, instance)
    output, _ = live_run.communicate(timeout=EXIT_LIMIT_SECONDS)

    assert live_run.returncode == 130, output
    assert "hung up: second" in output
    assert "2 of 3 tasks accepted." in output
    assert "Interrupted." in output
    (run,) = instance.get_runs()
    assert run.status is DagsterRunStatus.CANCELED
    summary = json.loads((evaluation.run_directory / "evaluation_summary.json").read_text())
    assert summary["simulation"]["successful_record_ids"] == ["first", "third"]
    assert summary["pending_record_ids"] == ["second"]
    assert failed_tasks(evaluation) == []

    calls = FakeCalls()
    workbench = Workbench(instance, evaluation, calls.create_run)
    assert workbench.statuses() == {(("first", "third"), ())}
    assert workbench.materialize().success
    assert [task_id for task_id, _ in calls.placed] == ["second"]
    assert workbench.statuses() == {(("first", "second", "third"), ())}
