"""A real run of EVA's of February 2026: old names, stale paths, no audio."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from adopted_runs import AdoptedRuns
from eva_directories import content_of

from orchestrator_assets.adoption import adopt
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.conversation_files import read_result, read_transcript
from orchestrator_assets.command_line.adopt import adopt_run


@pytest.fixture
def eva_run(eva_data: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(eva_data / "run", tmp_path / "run"))


async def test_it_is_adopted_judged_and_scored_without_being_touched(
    eva_data: Path, eva_run: Path, runs: AdoptedRuns
) -> None:
    before = content_of(eva_run)
    evaluation = adopt(eva_run, data_set=eva_data / "airline_dataset.json").evaluation
    assert evaluation.record_ids == ("1.1.2",)
    outcome = (await runs.settle(evaluation))["1.1.2"]

    assert outcome.accepted
    assert outcome.attempts[0].duration_seconds == 344.258154
    assert outcome.metrics is not None
    assert outcome.metrics["task_completion"].error is None
    assert outcome.metrics["agent_transcript_wer"].score == pytest.approx(8 / 660, abs=1e-3)
    assert outcome.metrics["tool_call_validity"].score == 1.0
    assert content_of(eva_run) == before
    summary = json.loads((evaluation.run_directory / "evaluation_summary.json").read_text())
    assert summary["simulation"]["successful_record_ids"] == ["1.1.2"]


def test_its_record_is_read_where_it_lies(eva_data: Path) -> None:
    directory = eva_data / "run" / "records" / "1.1.2"
    result = read_result(directory)
    assert result.conversation_ended_reason is EndReason.GOODBYE
    assert result.user_simulator_logs_path == "elevenlabs_events.jsonl"
    assert result.audio_mixed_path is None
    assert result.started_at.isoformat() == "2026-03-01T22:22:03.569036+00:00"
    rows = read_transcript(directory)
    assert rows[0].content == "Hello! How can I help you today?"
    assert rows[0].start_seconds == pytest.approx(1.122)
    assert all(row.content == row.content.strip() for row in rows)


def test_the_command_says_what_was_found_and_what_to_do_next(
    eva_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adopt_run(eva_run, name="february") == 0
    said = capsys.readouterr().out

    assert "1 record, 1 conversation, 0 archived attempts" in said
    assert "The gate can judge 1 of 1." in said
    assert "clean audio is there in 0 of 1" in said
    assert "give it with --data-set" in said
    assert "orchestrator-assets run evaluations/february.yaml" in said
