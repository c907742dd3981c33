"""`orchestrator-assets doctor` on real calls, few of them: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from orchestrator_assets import preflight
from orchestrator_assets.cli import ExitCode, app
from orchestrator_assets.command_line.doctor import examine
from orchestrator_assets.records import Task
from orchestrator_assets.validation.result import ValidationResult

FAULTS = ("wrong_code", "clipped", "talks_over", "slow", "dropped_socket")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *arguments])


async def passes_everything(task: Task, directory: Path, *, bypass_gate: bool) -> ValidationResult:
    """A validation that is broken."""
    return ValidationResult(gate_passed=True, scores={})


def test_planted_faults_are_found_and_the_latency_is_measured_right(tmp_path: Path) -> None:
    chosen = [argument for fault in FAULTS for argument in ("--fault", fault)]
    result = invoke("--seeds", "1", *chosen, "--json", "--keep", str(tmp_path / "kept"))

    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["passed"]
    assert (report["calls"], report["clean_calls"], report["clean_calls_accepted"]) == (10, 5, 5)
    for name, detector in report["detectors"].items():
        planted = int(name in FAULTS)
        assert (detector["asked"], detector["planted"]) == (10, planted)
        assert (detector["true_positives"], detector["false_positives"]) == (planted, 0)
    assert report["latency"]["turns"] > 15
    assert report["latency"]["max_error_ms"] <= 20
    assert "doctor: 10 of 10 calls placed and judged" in result.stderr
    summary = tmp_path / "kept" / "doctor" / "evaluation_summary.json"
    assert json.loads(summary.read_text(encoding="utf-8"))["simulation"]["total_records"] == 10


def test_a_validation_that_passes_everything_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = examine(1, ["clipped"], keep=tmp_path, validate=passes_everything)

    assert code is ExitCode.SOME_FAILED
    output = capsys.readouterr().out
    assert "2 calls in" in output
    assert "Misjudged: clipped_0 (planted: clipped), clipped found nothing" in output
    assert str(tmp_path / "doctor" / "records" / "clipped_0") in output
    assert "Not good enough: clipped: recall 0.00, below 0.95." in output


def test_a_fault_that_does_not_exist_ends_with_2_and_names_those_that_do() -> None:
    result = invoke("--fault", "sings")
    assert result.exit_code == ExitCode.CONFIGURATION
    assert "there is no fault 'sings'; known: wrong_code, skipped_turn" in result.stderr


def test_a_directory_that_was_used_before_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / "doctor").mkdir()
    result = invoke("--keep", str(tmp_path))
    assert result.exit_code == ExitCode.CONFIGURATION
    assert "was used by doctor before" in result.stderr


def test_missing_engines_end_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ["hibari-tts is not installed"]
    monkeypatch.setattr(preflight, "missing_speech_engines", lambda: missing)
    result = invoke("--seeds", "1", "--fault", "slow")
    assert result.exit_code == ExitCode.PREFLIGHT
    assert "hibari-tts is not installed" in result.stderr
