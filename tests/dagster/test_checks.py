"""Asset checks: answers for every task's partition, on a real instance with fake calls."""

from __future__ import annotations

import dataclasses
import json
import warnings
from pathlib import Path

import dagster as dg
import numpy as np
import pytest
from dagster import AssetCheckKey, DagsterInstance
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls, write_call, write_evaluation

from orchestrator_assets.attempts.outcomes import (
    Acceptance,
    AttemptSummary,
    Cause,
    Outcome,
    TaskOutcome,
)
from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    RESULT_FILE,
    TRANSCRIPT_FILE,
    EndReason,
)
from orchestrator_assets.call.recording_evidence import RecordingEvidence, recording_evidence
from orchestrator_assets.call.speech.base import TextToSpeech, Voice
from orchestrator_assets.dagster_assets import (
    audio_metadata,
    build_evaluation_definitions,
    checks,
)
from orchestrator_assets.dagster_assets.checks import CHECKED_ASSETS, TaskCheck, check_evaluations
from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    evaluation_summary_key,
    task_asset_key,
)
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record, Task
from orchestrator_assets.validation.result import GATE, USER_SPEECH_FIDELITY, ValidationResult

SUCCESS_RATE = AssetCheckKey(evaluation_summary_key("trial_run"), "success_rate")


def check_key(check: TaskCheck) -> AssetCheckKey:
    return AssetCheckKey(task_asset_key("trial_run", CHECKED_ASSETS[check]), check.value)


def statuses(instance: DagsterInstance, check: TaskCheck) -> dict[str | None, str]:
    """Return what the UI shows: a check of an older materialisation is none."""
    infos = instance.event_log_storage.get_asset_check_partition_info([check_key(check)])
    return {
        info.partition_key: info.latest_execution_status.value if info.is_current else "MISSING"
        for info in infos
    }


def history(instance: DagsterInstance, key: AssetCheckKey) -> list[dg.AssetCheckEvaluation]:
    records = instance.event_log_storage.get_asset_check_execution_history(key, limit=50)
    evaluations = []
    for record in records:
        assert record.event is not None
        event = record.event.dagster_event
        assert event is not None
        if event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            evaluations.append(event.asset_check_evaluation_data)
    return evaluations


def test_every_check_is_declared_with_the_evaluations_partitions(workbench: Workbench) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", dg.PreviewWarning)
        definitions = build_evaluation_definitions(workbench.evaluation)

    keys = definitions.resolve_asset_graph().asset_check_keys
    assert keys == {check_key(check) for check in TaskCheck}


def test_every_task_gets_its_answers_failed_ones_too(
    workbench: Workbench, calls: FakeCalls, instance: DagsterInstance
) -> None:
    calls.plans = {"record_1": [Attempt.CUT_OFF], "record_3": [Attempt.MISSPOKEN]}

    workbench.materialize()

    well = {f"record_{number}": "SUCCEEDED" for number in range(5)}
    assert statuses(instance, TaskCheck.CONVERSATION_VALID_END) == well | {"record_1": "FAILED"}
    assert statuses(instance, TaskCheck.CALLER_FIDELITY) == well | {
        "record_1": "FAILED",
        "record_3": "FAILED",
    }
    assert statuses(instance, TaskCheck.TIME_LIMIT_ACCEPTANCE) == well | {
        "record_1": "FAILED",
        "record_3": "FAILED",
    }
    # The fake calls leave no audio.
    assert set(statuses(instance, TaskCheck.AUDIO_EVIDENCE).values()) == {"FAILED"}


def test_a_rerun_mends_the_checks_and_keeps_their_history(
    workbench: Workbench, calls: FakeCalls, instance: DagsterInstance
) -> None:
    calls.plans = {"record_1": [Attempt.CUT_OFF, Attempt.CUT_OFF, Attempt.GOOD]}
    workbench.materialize()

    assert workbench.rerun_failed().success

    assert statuses(instance, TaskCheck.CONVERSATION_VALID_END)["record_1"] == "SUCCEEDED"
    evaluations = history(instance, check_key(TaskCheck.CONVERSATION_VALID_END))
    of_the_task = [each for each in evaluations if each.partition == "record_1"]
    assert [each.passed for each in of_the_task] == [True, False]


def test_a_range_run_that_reuses_everything_answers_again(
    workbench: Workbench, instance: DagsterInstance
) -> None:
    workbench.materialize()
    workbench.materialize()

    assert set(statuses(instance, TaskCheck.CALLER_FIDELITY).values()) == {"SUCCEEDED"}


def test_a_check_by_itself_is_answered_from_disk(
    workbench: Workbench, calls: FakeCalls, instance: DagsterInstance
) -> None:
    workbench.materialize()
    calls.placed.clear()
    calls.judged.clear()
    calls.scored.clear()
    job = workbench.definitions.resolve_implicit_global_asset_job_def().get_subset(
        asset_selection=set(), asset_check_selection={check_key(TaskCheck.CALLER_FIDELITY)}
    )

    result = job.execute_in_process(
        instance=instance,
        tags={
            "dagster/asset_partition_range_start": "record_0",
            "dagster/asset_partition_range_end": "record_2",
        },
    )

    assert result.success
    assert (calls.placed, calls.judged, calls.scored) == ([], [], [])
    assert result.get_asset_materialization_events() == []
    evaluations = history(instance, check_key(TaskCheck.CALLER_FIDELITY))
    assert len(evaluations) == 5 + 3
    assert len(history(instance, check_key(TaskCheck.AUDIO_EVIDENCE))) == 5


def test_failed_attempts_are_observations_with_cause_and_archive(
    workbench: Workbench, calls: FakeCalls, instance: DagsterInstance
) -> None:
    calls.plans = {"record_1": [Attempt.MISSPOKEN, Attempt.GOOD], "record_3": [Attempt.CUT_OFF]}

    workbench.materialize()
    workbench.materialize()

    records = instance.fetch_observations(
        task_asset_key("trial_run", TaskAsset.CONVERSATION), limit=20
    ).records
    observations = [record.asset_observation for record in records]
    found = sorted(
        (each.partition or "", each.metadata["attempt"].value, each.metadata["outcome"].value)
        for each in observations
        if each is not None
    )
    # The second run reuses record_1 and tries record_3 twice more.
    assert found == [
        ("record_1", 1, "validation_failed"),
        *(("record_3", number, "not_finished") for number in (1, 2, 3, 4)),
    ]
    first = next(each for each in observations if each and each.partition == "record_1")
    assert first.metadata["cause"].value == "caller"
    assert str(first.metadata["archive"].value).endswith("record_1_failed_attempt_1")


@pytest.mark.parametrize(("threshold", "passes"), [(0.8, True), (0.81, False)])
def test_the_success_rate_is_checked_against_its_threshold(
    tmp_path: Path, instance: DagsterInstance, threshold: float, passes: bool
) -> None:
    path = write_evaluation(tmp_path / "e", list("abcde"), success_rate_threshold=threshold)
    calls = FakeCalls({"b": [Attempt.CUT_OFF]})
    workbench = Workbench(instance, load_evaluation(path), calls.create_run)

    workbench.materialize()

    (answer,) = history(instance, SUCCESS_RATE)
    assert answer.passed is passes
    assert answer.metadata["success_rate"].value == 0.8
    assert answer.description == f"80.0% of the tasks are accepted; {threshold:.0%} are wanted"
    job = workbench.definitions.resolve_implicit_global_asset_job_def()
    job.execute_in_process(instance=instance, asset_selection=[SUCCESS_RATE.asset_key])
    assert [each.passed for each in history(instance, SUCCESS_RATE)] == [passes, passes]


def test_the_threshold_does_not_shape_calls(evaluation: Evaluation) -> None:
    record = Record(id="a")
    wanting = evaluation.model_copy(update={"success_rate_threshold": 0.5})

    assert wanting.call_fingerprint(record) == evaluation.call_fingerprint(record)


def limited(directory: Path, acceptance: Acceptance | None) -> TaskOutcome:
    task = Task(Record(id="a"))
    write_call(task, 2, directory, EndReason.TIME_LIMIT_EXCEEDED, "fingerprint")
    validation = ValidationResult(
        gate_passed=False,
        gate_bypassed=True,
        scores={
            GATE: MetricScore(name=GATE, score=0, details={"reason": "the call was too long"}),
            USER_SPEECH_FIDELITY: MetricScore(name=USER_SPEECH_FIDELITY, normalized_score=1),
        },
    )
    attempt = AttemptSummary(
        number=2,
        outcome=Outcome.TIME_LIMIT_EXCEEDED,
        cause=Cause.AGENT,
        ended_reason=EndReason.TIME_LIMIT_EXCEEDED,
        duration_seconds=600.0,
        reason="the call ran into its time limit; the caller did its part",
        directory=directory,
        validation=validation,
    )
    return TaskOutcome(
        task=task,
        acceptance=acceptance,
        attempts=(attempt,),
        attempts_made=1,
        accepted_attempt=2 if acceptance else None,
        directory=directory if acceptance else None,
    )


def answers(evaluation: Evaluation, outcome: TaskOutcome) -> dict[str, dg.AssetCheckEvaluation]:
    return {each.check_name: each for each in check_evaluations(evaluation, outcome)}


def test_an_acceptance_by_time_limit_is_a_warning_that_says_why(
    evaluation: Evaluation, tmp_path: Path
) -> None:
    found = answers(evaluation, limited(tmp_path, Acceptance.TIME_LIMIT))

    answer = found["time_limit_acceptance"]
    assert (answer.passed, answer.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "attempt 2" in (answer.description or "")
    assert "the caller did its part" in (answer.description or "")
    end = found["conversation_valid_end"]
    assert (end.passed, end.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert end.description == "the call was too long; accepted all the same"
    assert found["caller_fidelity"].passed


def test_a_time_limit_that_was_not_accepted_is_a_failure(
    evaluation: Evaluation, tmp_path: Path
) -> None:
    answer = answers(evaluation, limited(tmp_path, None))["time_limit_acceptance"]

    assert (answer.passed, answer.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert (answer.description or "").startswith("not acceptable")


def write_recordings(directory: Path, speech: Samples, agent: Samples | None = None) -> None:
    """Leave both tracks of a call of half a minute; the agent says the same a bit later."""
    agent = np.roll(speech, 4 * 8_000) if agent is None else agent
    for name, samples in ((CALLER_AUDIO_FILE, speech), (AGENT_AUDIO_FILE, agent)):
        with WavWriter(directory / name, 8_000) as writer:
            writer.append(samples)
    # As long as the call.
    result = json.loads((directory / RESULT_FILE).read_text(encoding="utf-8"))
    result["duration_seconds"] = speech.size / 8_000
    (directory / RESULT_FILE).write_text(json.dumps(result), encoding="utf-8")
    (directory / TRANSCRIPT_FILE).unlink(missing_ok=True)


def listed(answer: dg.AssetCheckEvaluation) -> list[dict[str, object]]:
    table = answer.metadata["findings"]
    assert isinstance(table, dg.TableMetadataValue)
    return [dict(record.data) for record in table.records]


@pytest.fixture
def speech(text_to_speech: TextToSpeech) -> Samples:
    silence = np.zeros(8 * 8_000, np.int16)
    said = text_to_speech.synthesize("Could we do Friday at a quarter past two?", Voice(), 8_000)
    return np.concatenate([silence, said, silence, said, silence])


def test_sound_recordings_pass_with_numbers_to_plot(
    evaluation: Evaluation, tmp_path: Path, speech: Samples
) -> None:
    outcome = limited(tmp_path, None)
    write_recordings(tmp_path, speech)

    answer = answers(evaluation, outcome)["audio_evidence"]

    assert answer.passed
    assert answer.description == f"both tracks are whole, {speech.size / 8_000:.1f} s each"
    assert answer.metadata["caller_speech_dbfs"].value == pytest.approx(-21, abs=2)
    assert answer.metadata["agent_silence_ratio"].value == pytest.approx(0.83, abs=0.05)
    assert "findings" not in answer.metadata


def test_doubts_of_the_recordings_warn_and_are_listed_with_their_times(
    evaluation: Evaluation, tmp_path: Path, speech: Samples
) -> None:
    outcome = limited(tmp_path, None)
    loudest = int(np.argmax(np.abs(speech)))
    dropped = speech.copy()
    dropped[loudest + 8 : loudest + 808] = 0
    write_recordings(tmp_path, dropped, agent=np.zeros_like(speech))

    answer = answers(evaluation, outcome)["audio_evidence"]

    assert (answer.passed, answer.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert answer.description == (
        f"the caller's track drops out for 100 ms at {(loudest + 8) / 8_000:.2f} s; "
        "the agent's track is silent"
    )
    gap, silent = listed(answer)
    assert gap["kind"] == "gap"
    assert gap["side"] == "caller"
    assert gap["start_seconds"] == pytest.approx((loudest + 8) / 8_000, abs=0.002)
    assert gap["end_seconds"] == pytest.approx((loudest + 808) / 8_000, abs=0.002)
    assert (silent["kind"], silent["start_seconds"]) == ("silent", None)


def test_a_fault_of_the_recordings_is_a_failure_and_comes_first(
    evaluation: Evaluation, tmp_path: Path, speech: Samples
) -> None:
    outcome = limited(tmp_path, None)
    write_recordings(tmp_path, np.clip(speech, -5_000, 5_000), agent=speech[:-8_000])

    answer = answers(evaluation, outcome)["audio_evidence"]

    assert (answer.passed, answer.severity) == (False, dg.AssetCheckSeverity.ERROR)
    first, *others = (answer.description or "").split("; ")
    assert first.startswith("the tracks are not equally long")
    assert all(other.startswith("the caller's track is clipped at") for other in others)


def test_many_findings_are_counted_in_the_text_and_listed_in_the_table(
    evaluation: Evaluation, tmp_path: Path, speech: Samples
) -> None:
    outcome = limited(tmp_path, None)
    holes = speech.copy()
    for start in range(0, holes.size, 1_600):
        holes[start : start + 240] = 0
    write_recordings(tmp_path, holes)

    answer = answers(evaluation, outcome)["audio_evidence"]

    count = len(listed(answer))
    assert count > 10
    assert (answer.description or "").endswith(f"; and {count - 5} more")


def test_a_judge_without_an_answer_is_a_warning(evaluation: Evaluation, tmp_path: Path) -> None:
    outcome = limited(tmp_path, None)
    (attempt,) = outcome.attempts
    assert attempt.validation is not None
    open_verdict = attempt.validation.model_copy(
        update={"errored_metrics": (USER_SPEECH_FIDELITY,)}
    )
    asked = dataclasses.replace(
        outcome, attempts=(dataclasses.replace(attempt, validation=open_verdict),)
    )

    answer = answers(evaluation, asked)["caller_fidelity"]

    assert (answer.passed, answer.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert answer.description == "no answer from user_speech_fidelity"


def test_a_task_that_was_never_called_fails_every_check_with_its_error(
    evaluation: Evaluation,
) -> None:
    outcome = TaskOutcome(Task(Record(id="a")), None, (), 0, error="OSError: no space")

    found = answers(evaluation, outcome)

    assert {each.description for each in found.values()} == {"OSError: no space"}
    assert not any(each.passed for each in found.values())


def test_a_record_that_can_not_be_shown_costs_nothing_but_its_own_picture(
    workbench: Workbench, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(directory: Path) -> RecordingEvidence:
        if directory.name == "record_2":
            raise ValueError("no such picture")
        return recording_evidence(directory)

    monkeypatch.setattr(checks, "evidence_of", broken)
    monkeypatch.setattr(audio_metadata, "evidence_of", broken)

    assert workbench.materialize().success

    key = check_key(TaskCheck.AUDIO_EVIDENCE)
    told = {each.partition: each.description for each in history(instance, key)}
    assert told["record_2"] == "could not be answered: ValueError: no such picture"
    assert len(told) == 5
