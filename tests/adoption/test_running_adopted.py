"""What a run of an adopted evaluation does with what EVA left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from adopted_runs import AdoptedRuns
from eva_directories import content_of, write_conversation, write_data_set, write_run

from orchestrator_assets.adoption import adopt
from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.errors import PreflightError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import EvaluationRun, failed_tasks
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
)

PASSED = {"score": 1.0, "normalized_score": 1.0}


@pytest.fixture
def eva_run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


def adopted(eva_run: Path, **changes: Any) -> Evaluation:
    return adopt(eva_run).evaluation.model_copy(update=changes)


async def test_a_finished_call_is_judged_by_our_gate_and_accepted(
    eva_run: Path, runs: AdoptedRuns
) -> None:
    write_conversation(eva_run / "records" / "1.1")
    before = content_of(eva_run)
    outcome = (await runs.settle(adopted(eva_run)))["1.1"]

    assert outcome.acceptance is Acceptance.VALIDATED
    assert outcome.reused
    assert runs.placed == []
    assert content_of(eva_run) == before


async def test_what_can_not_be_judged_is_skipped_and_says_why(
    eva_run: Path, runs: AdoptedRuns
) -> None:
    write_conversation(eva_run / "records" / "1.1")
    write_conversation(eva_run / "records" / "1.2", "1.2", files=["audio_user_clean.wav"])
    outcomes = await runs.settle(adopted(eva_run))

    def reasons(task: str) -> tuple[str, str]:
        validation = outcomes[task].attempts[-1].validation
        assert validation is not None
        assert validation.scores[GATE].score == 1.0
        fidelities = [
            validation.scores[name] for name in (USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY)
        ]
        assert all(score.skipped for score in fidelities)
        behaviour, speech = (score.details["reason"] for score in fidelities)
        return behaviour, speech

    no_script = "the adopted run's caller followed no script"
    no_goal = f"{no_script}, and the record has no goal to judge the caller by"
    nothing_meant = f"{no_script}, and its events do not hold what it meant to say"
    assert reasons("1.1") == (no_goal, "no audio in the adopted run")
    assert reasons("1.2") == (no_goal, nothing_meant)


async def test_a_script_in_the_data_set_is_not_held_against_evas_caller(
    eva_run: Path, tmp_path: Path, runs: AdoptedRuns
) -> None:
    write_conversation(eva_run / "records" / "1.1")
    data_set = write_data_set(tmp_path / "set.json", {"id": "1.1", "turns": ["Good day."]})
    outcome = (await runs.settle(adopt(eva_run, data_set=data_set).evaluation))["1.1"]

    assert outcome.accepted


async def test_scores_are_merged_beside_evas_and_leave_evas_file_alone(
    eva_run: Path, runs: AdoptedRuns
) -> None:
    scores = {"faithfulness": {"score": 2.0, "normalized_score": 0.5}, GATE: {"score": 0.5}}
    write_conversation(eva_run / "records" / "1.1", scores=scores)
    before = content_of(eva_run)
    evaluation = adopted(eva_run)
    await runs.settle(evaluation)

    path = evaluation.run_directory / "records" / "1.1" / "metrics.json"
    metrics = json.loads(path.read_text())["metrics"]
    assert metrics["faithfulness"]["score"] == 2.0
    assert metrics[GATE]["score"] == 1.0
    assert content_of(eva_run) == before


@pytest.mark.parametrize(
    ("reason", "last_event_reason", "outcome", "cause"),
    [
        ("assistant_disconnect", "assistant_disconnect", Outcome.NOT_FINISHED, Cause.AGENT),
        ("elevenlabs_disconnect", "elevenlabs_disconnect", Outcome.NOT_FINISHED, Cause.PROVIDER),
        ("session_ended", "session_ended", Outcome.NOT_FINISHED, Cause.PROVIDER),
        ("error", None, Outcome.NOT_FINISHED, Cause.HARNESS),
        ("unknown", None, Outcome.NOT_FINISHED, Cause.HARNESS),
        (None, None, Outcome.NOT_FINISHED, Cause.HARNESS),
        ("a_new_reason", None, Outcome.NOT_FINISHED, Cause.HARNESS),
        (None, "goodbye", Outcome.PASSED, None),
        ("inactivity_timeout", "inactivity_timeout", Outcome.PASSED, None),
        ("timeout", "timeout", Outcome.TIME_LIMIT_EXCEEDED, Cause.AGENT),
        ("time_limit_exceeded", None, Outcome.TIME_LIMIT_EXCEEDED, Cause.AGENT),
    ],
)
async def test_evas_reasons_for_the_end_of_a_call_are_understood(
    eva_run: Path,
    runs: AdoptedRuns,
    *,
    reason: str | None,
    last_event_reason: str | None,
    outcome: Outcome,
    cause: Cause | None,
) -> None:
    write_conversation(
        eva_run / "records" / "1.1", reason=reason, last_event_reason=last_event_reason
    )
    settled = (await runs.settle(adopted(eva_run, max_time_limit_attempts=0)))["1.1"]

    attempt = settled.attempts[-1]
    assert (attempt.outcome, attempt.cause) == (outcome, cause)
    assert settled.accepted is (outcome is Outcome.PASSED)


async def test_a_call_at_its_time_limit_is_accepted_as_ours_would_be(
    eva_run: Path, runs: AdoptedRuns
) -> None:
    write_conversation(
        eva_run / "records" / "1.1", reason="time_limit_exceeded", last_event_reason=None
    )
    outcome = (await runs.settle(adopted(eva_run)))["1.1"]
    assert outcome.acceptance is Acceptance.TIME_LIMIT


async def test_an_archived_call_at_its_time_limit_that_eva_found_well_played_is_restored(
    eva_run: Path, runs: AdoptedRuns
) -> None:
    limited: dict[str, Any] = {"reason": "time_limit_exceeded", "last_event_reason": None}
    write_conversation(
        eva_run / "records" / "1.1_failed_attempt_1",
        scores={GATE: {"score": 0.0}, USER_BEHAVIORAL_FIDELITY: PASSED},
        **limited,
    )
    outcome = (await runs.settle(adopted(eva_run, max_attempts=1)))["1.1"]

    assert outcome.acceptance is Acceptance.TIME_LIMIT
    assert outcome.accepted_attempt == 1
    assert runs.placed == []


async def test_what_failed_is_called_again_and_what_passed_is_kept(
    eva_run: Path, runs: AdoptedRuns
) -> None:
    write_conversation(eva_run / "records" / "1.1")
    write_conversation(eva_run / "records" / "1.2", "1.2", reason="error", last_event_reason=None)
    for number in (1, 2, 3):
        write_conversation(
            eva_run / "records" / f"1.3_failed_attempt_{number}",
            "1.3",
            reason="error",
            last_event_reason=None,
        )
    evaluation = adopted(eva_run, max_attempts=2)
    outcomes = await runs.settle(evaluation)

    # EVA's attempts use up none of ours.
    assert sorted(runs.placed) == [("1.2", 2), ("1.2", 3), ("1.3", 4), ("1.3", 5)]
    assert [task for task, outcome in outcomes.items() if outcome.accepted] == ["1.1"]
    assert {task.id for task in failed_tasks(evaluation)} == {"1.2", "1.3"}
    records = evaluation.run_directory / "records"
    assert (records / "1.2_failed_attempt_1" / "user_simulator_events.jsonl").is_symlink()


async def test_a_new_setting_does_not_cost_what_was_adopted_but_force_does(
    eva_run: Path, runs: AdoptedRuns
) -> None:
    write_conversation(eva_run / "records" / "1.1")
    evaluation = adopted(eva_run, max_attempts=1)
    await runs.settle(evaluation)
    changed = evaluation.model_copy(update={"conversation_time_limit_seconds": 60})
    assert (await runs.settle(changed))["1.1"].reused
    assert runs.placed == []

    outcome = (await runs.settle(changed, mode=AttemptMode.FORCE))["1.1"]
    assert runs.placed == [("1.1", 2)]
    assert not outcome.accepted


async def test_an_interrupted_call_is_called_again(eva_run: Path, runs: AdoptedRuns) -> None:
    write_conversation(eva_run / "records" / "1.1", reason="cancelled")
    lost = write_conversation(eva_run / "records" / "1.2", "1.2")
    (lost / "result.json").unlink()
    await runs.settle(adopted(eva_run, max_attempts=1))

    assert sorted(runs.placed) == [("1.1", 2), ("1.2", 2)]


async def test_the_summary_tells_evas_part_too(eva_run: Path, runs: AdoptedRuns) -> None:
    write_conversation(eva_run / "records" / "1.1")
    write_conversation(
        eva_run / "records" / "1.2_failed_attempt_1", "1.2", reason="error", last_event_reason=None
    )
    evaluation = adopted(eva_run)
    await runs.settle(evaluation)
    path = evaluation.run_directory / "evaluation_summary.json"
    summary = json.loads(path.read_text())

    assert summary["started_at"].startswith("2026-03-01T22:22:03")
    assert summary["simulation"]["successful_record_ids"] == ["1.1"]
    assert summary["simulation"]["failed_record_ids"] == ["1.2"]
    assert summary["rerun_history"]["1.2"][0]["reason"] == "not_finished"
    assert [run["id"] for run in summary["runs"]][1:] == ["ours"]


async def test_calling_without_an_agent_says_what_to_fill_in(eva_run: Path, tmp_path: Path) -> None:
    write_conversation(eva_run / "records" / "1.1", reason="error", last_event_reason=None)
    evaluation = adopted(eva_run, max_attempts=1)
    run = EvaluationRun(evaluation, evaluation.load_tasks(), run_id="ours")
    with pytest.raises(PreflightError, match=r"agent\.url is only a placeholder"):
        _ = [outcome async for outcome in run.outcomes()]
