"""The command line: what it prints, and its exit codes. Calls are fakes, the instance is real."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from evaluation_fakes import Attempt, FakeCalls, write_evaluation
from typer.testing import CliRunner, Result

from orchestrator_assets.cli import app
from orchestrator_assets.command_line import console, watched_run
from orchestrator_assets.dagster_assets import settling
from orchestrator_assets.dagster_assets.instance import HOME_VARIABLE
from orchestrator_assets.evaluation_files import EVALUATIONS_VARIABLE
from orchestrator_assets.evaluation_run import EvaluationRun

RECORD_IDS = ["first", "second", "third"]


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCalls:
    """Work in an empty directory, where every call is a fake."""
    monkeypatch.chdir(tmp_path)
    for variable in (HOME_VARIABLE, EVALUATIONS_VARIABLE):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    calls = FakeCalls()
    monkeypatch.setattr(watched_run, "EvaluationRun", calls.create_run)
    return calls


@pytest.fixture
def evaluation_file(tmp_path: Path, calls: FakeCalls) -> str:
    return str(write_evaluation(tmp_path / "mine", RECORD_IDS))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_a_run_that_accepts_everything_ends_with_0_and_a_table(evaluation_file: str) -> None:
    result = invoke("run", evaluation_file)

    assert result.exit_code == 0, result.output
    assert "3 of 3 tasks accepted." in result.output
    assert "second: attempt 1 started" in result.output
    assert "second: accepted (validated), after 1 attempt" in result.output
    assert f"orchestrator-assets ui {evaluation_file}" in result.output


def test_a_run_with_a_failed_task_ends_with_1_and_names_it(
    evaluation_file: str, calls: FakeCalls
) -> None:
    calls.plans = {"second": [Attempt.MISSPOKEN]}

    result = invoke("run", evaluation_file)

    assert result.exit_code == 1
    assert "2 of 3 tasks accepted." in result.output
    assert "second: attempt 2 validation_failed (caller)" in result.output
    assert "second: not accepted after 2 attempts" in result.output


def test_a_rerun_tries_the_failed_tasks_only(evaluation_file: str, calls: FakeCalls) -> None:
    calls.plans = {"second": [Attempt.CUT_OFF, Attempt.CUT_OFF, Attempt.GOOD]}
    invoke("run", evaluation_file)
    calls.placed.clear()

    result = invoke("rerun", evaluation_file)

    assert result.exit_code == 0, result.output
    assert calls.placed == [("second", 3)]
    assert "1 of 1 task accepted." in result.output


def test_a_rerun_with_nothing_failed_says_so_and_ends_with_0(evaluation_file: str) -> None:
    invoke("run", evaluation_file)

    result = invoke("rerun", evaluation_file)

    assert result.exit_code == 0
    assert "No task of trial_run has failed." in result.output


def test_a_second_run_reuses_what_was_accepted(evaluation_file: str, calls: FakeCalls) -> None:
    invoke("run", evaluation_file)
    calls.placed.clear()

    result = invoke("run", evaluation_file)

    assert result.exit_code == 0
    assert calls.placed == []
    assert "second: accepted (validated), reused" in result.output


def test_force_calls_again(evaluation_file: str, calls: FakeCalls) -> None:
    invoke("run", evaluation_file)
    calls.placed.clear()

    assert invoke("run", evaluation_file, "--force").exit_code == 0
    assert sorted(calls.placed) == [(record_id, 2) for record_id in RECORD_IDS]


def test_fresh_is_another_name_of_force(evaluation_file: str, calls: FakeCalls) -> None:
    invoke("run", evaluation_file)
    calls.placed.clear()

    invoke("run", evaluation_file, "--fresh", "--record", "third")

    assert calls.placed == [("third", 2)]


def test_only_the_records_that_are_named_are_run(evaluation_file: str, calls: FakeCalls) -> None:
    result = invoke("run", evaluation_file, "--record", "third", "--record", "first")

    assert result.exit_code == 0, result.output
    assert sorted(calls.placed) == [("first", 1), ("third", 1)]
    assert "2 of 2 tasks accepted." in result.output


def test_a_record_that_does_not_exist_ends_with_2(evaluation_file: str, calls: FakeCalls) -> None:
    result = invoke("run", evaluation_file, "--record", "first", "--record", "fourth")

    assert result.exit_code == 2
    assert "record 'fourth': does not exist" in result.output
    assert calls.placed == []


def test_a_rerun_of_records_that_have_not_failed_calls_nobody(
    evaluation_file: str, calls: FakeCalls
) -> None:
    calls.plans = {"second": [Attempt.CUT_OFF]}
    invoke("run", evaluation_file)
    calls.placed.clear()

    result = invoke("rerun", evaluation_file, "--record", "first")

    assert (result.exit_code, calls.placed) == (0, [])
    assert "None of these tasks has failed." in result.output


def test_the_number_of_attempts_can_be_given(evaluation_file: str, calls: FakeCalls) -> None:
    calls.plans = {"second": [Attempt.CUT_OFF]}

    result = invoke("run", evaluation_file, "--max-attempts", "1")

    assert result.exit_code == 1
    assert [task for task, _ in calls.placed].count("second") == 1
    assert invoke("run", evaluation_file, "--max-attempts", "21").exit_code == 2


def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    evaluation_file: str, calls: FakeCalls, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))

    result = invoke("run", evaluation_file, "--dry-run")

    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[:4] == [
        "trial_run: 3 tasks: call 3 (for the first time)",
        "  metrics to compute: task_completion (3)",
        result.output.splitlines()[2],
        "  first: call (never called)",
    ]
    assert "for these calls, up to 4 at a time; " in result.output
    assert calls.placed == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_dry_rerun_names_the_failed_tasks_and_what_is_out_of_date(
    evaluation_file: str, calls: FakeCalls
) -> None:
    calls.plans = {"second": [Attempt.MISSPOKEN]}
    invoke("run", evaluation_file)
    calls.placed.clear()
    path = Path(evaluation_file)
    path.write_text(path.read_text()[:-1] + ', "conversation_time_limit_seconds": 9}')

    rerun = invoke("rerun", evaluation_file, "--dry-run")
    planned = invoke("run", evaluation_file, "--dry-run")

    assert rerun.output.startswith("trial_run: 1 task: call 1 (again)\n")
    assert "  second: call (attempt 2 validation_failed: " in rerun.output
    assert "out of date: changed: conversation_time_limit_seconds (2)" in planned.output
    assert calls.placed == []


def test_every_run_begins_with_its_plan(evaluation_file: str) -> None:
    first = invoke("run", evaluation_file).output
    second = invoke("run", evaluation_file).output

    assert first.startswith("trial_run: 3 tasks: call 3 (for the first time)\n")
    assert second.startswith("trial_run: 3 tasks: reuse 3\n")


def test_status_says_how_the_tasks_stand(evaluation_file: str, calls: FakeCalls) -> None:
    calls.plans = {"second": [Attempt.MISSPOKEN]}
    invoke("run", evaluation_file, "--record", "first", "--record", "second")

    result = invoke("status", evaluation_file)

    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "trial_run: 3 tasks: 1 accepted, 1 failed, 1 pending, 0 in progress"
    assert lines[1] == "3 attempts: 1 passed, 2 validation_failed"
    assert lines[2] == "causes: 2 caller"
    assert lines[3].startswith("last run ")
    assert "failed user_speech_fidelity (turn 0 was misspoken)" in result.output
    assert "never called" in result.output


def test_status_is_there_as_json(evaluation_file: str, calls: FakeCalls) -> None:
    before = json.loads(invoke("status", evaluation_file, "--json").output)
    invoke("run", evaluation_file)
    after = json.loads(invoke("status", evaluation_file, "--json").output)

    assert (before["pending"], before["last_run"]) == (3, None)
    assert (after["accepted"], after["not_accepted"]) == (3, [])
    assert after["attempts_by_outcome"]["passed"] == 3


def test_the_scores_stand_in_the_table_if_there_is_room(
    evaluation_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = invoke("run", evaluation_file).output
    monkeypatch.setattr(console, "PLAIN_WIDTH", 70)
    narrow = invoke("run", evaluation_file).output

    assert "completion |" in wide
    assert "completion |" not in narrow


def test_tasks_that_no_longer_lie_side_by_side_are_run_all_the_same(
    evaluation_file: str, calls: FakeCalls
) -> None:
    invoke("run", evaluation_file)
    calls.placed.clear()
    path = Path(evaluation_file)
    path.write_text(path.read_text()[:-1] + ', "record_ids": ["first", "third"]}')

    result = invoke("run", evaluation_file, "--force")

    assert result.exit_code == 0, result.output
    assert sorted(calls.placed) == [("first", 2), ("third", 2)]


def test_an_instance_is_made_in_the_working_directory(evaluation_file: str) -> None:
    invoke("run", evaluation_file)

    assert "telemetry" in Path(".dagster_home/dagster.yaml").read_text(encoding="utf-8")


def test_an_existing_instance_keeps_its_own_settings(
    evaluation_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "elsewhere"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    monkeypatch.setenv(HOME_VARIABLE, str(home))

    assert invoke("run", evaluation_file).exit_code == 0
    assert (home / "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"
    assert (home / "storage").is_dir()
    assert not Path(".dagster_home").exists()


def test_a_faulty_evaluation_ends_with_2_and_lists_its_faults(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path, RECORD_IDS, num_trials=0, metrics=[], colour="red")

    result = invoke("run", str(path))

    assert result.exit_code == 2
    assert "2 faults in the configuration" in result.output
    assert "num_trials" in result.output
    assert "colour: is not a field of an evaluation" in result.output
    assert "Traceback" not in result.output


def test_an_unknown_evaluation_ends_with_2(calls: FakeCalls) -> None:
    result = invoke("run", "nobody")

    assert result.exit_code == 2
    assert "nobody: is neither a file nor an evaluation" in result.output


def test_an_unknown_option_ends_with_2() -> None:
    assert invoke("run", "--colour").exit_code == 2


def test_an_agent_that_does_not_start_ends_with_3_and_its_last_words(
    tmp_path: Path, calls: FakeCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setenv(EVALUATIONS_VARIABLE, "")
    agent = {
        "url": "ws://127.0.0.1:{port}/media",
        "command": [sys.executable, "-c", "raise SystemExit('no licence')"],
    }
    path = write_evaluation(tmp_path, RECORD_IDS, agent=agent)

    result = invoke("run", str(path))

    assert result.exit_code == 3, result.output
    assert "no licence" in result.output
    assert "0 of 3 tasks accepted." in result.output


def test_nobody_is_called_where_the_preflight_finds_a_fault(
    tmp_path: Path, calls: FakeCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_run, "EvaluationRun", EvaluationRun)
    agent = {"url": "ws://127.0.0.1:1/media", "command": ["no_such_agent_program"]}
    path = write_evaluation(tmp_path, RECORD_IDS, agent=agent)

    result = invoke("run", str(path))

    assert result.exit_code == 3, result.output
    assert "there is no program 'no_such_agent_program'" in result.output
    assert "metrics_summary.json" not in result.output
    assert not (tmp_path / "runs").exists()


def test_a_run_that_breaks_off_says_why_though_a_task_has_failed(
    evaluation_file: str, calls: FakeCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the log is full")

    calls.plans = {record_id: [Attempt.MISSPOKEN] for record_id in RECORD_IDS}
    monkeypatch.setattr(settling, "failed_attempt_observations", broken)

    result = invoke("run", evaluation_file)

    assert result.exit_code == 1
    assert "the log is full" in result.output


@pytest.mark.parametrize("arguments", [("run", "--dry-run"), ("status",)])
def test_looking_needs_no_dagster(arguments: tuple[str, ...], tmp_path: Path) -> None:
    code = (
        "import sys; from orchestrator_assets.cli import app;"
        f"app({list(arguments)}, standalone_mode=False);"
        "sys.exit('dagster' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_help_needs_neither_dagster_nor_the_engines() -> None:
    code = (
        "import sys; from orchestrator_assets import cli;"
        "heavy = {'dagster', 'numpy', 'pydantic', 'onnxruntime', 'hibari'} & sys.modules.keys();"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_no_run_of_evas_is_not_adopted(tmp_path: Path) -> None:
    result = invoke("adopt", str(tmp_path), "--output-dir", str(tmp_path / "runs"))

    assert result.exit_code == 2, result.output
    assert str(tmp_path) in result.output
