from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.errors import SpeechEngineError
from orchestrator_assets.evaluation import Validation
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores, read_scores
from orchestrator_assets.records import Record, Task
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
)
from orchestrator_assets.validation.validator import Validator


class Ears:
    """Hears the turns of the record, but for what is to be misheard; may be out of order."""

    sample_rate_hz = 16_000

    def __init__(self, record: Record, misheard: dict[int, str] | None = None) -> None:
        self.texts = [turn.say for turn in record.turns]
        for turn, text in (misheard or {}).items():
            self.texts[turn] = text
        self.calls = 0
        self.broken = False

    def transcribe(self, samples: Samples) -> str:
        if self.broken:
            raise SpeechEngineError("the model file is damaged")
        self.calls += 1
        return self.texts[(self.calls - 1) % len(self.texts)]


@pytest.fixture
def ears(record: Record) -> Ears:
    return Ears(record)


@pytest.fixture
def validator(ears: Ears) -> Validator:
    return Validator(Validation(), ears)


async def test_a_caller_that_did_its_part_passes_and_its_scores_are_kept(
    validator: Validator, record: Record, follow_script: Callable[[int], Any]
) -> None:
    directory = follow_script(3).ends("goodbye")
    result = await validator.validate(Task(record), directory)
    assert result.passed
    assert result.gate_passed
    assert not result.gate_bypassed
    assert result.failure_details == {}
    assert set(result.scores) == {GATE, USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY}
    assert result.thresholds == {
        GATE: 1.0,
        USER_BEHAVIORAL_FIDELITY: 1.0,
        "user_speech_fidelity_quietest_dbfs": -45.0,
        "user_speech_fidelity_most_clipped": 0.01,
        "user_speech_fidelity_rating_3": 0.03,
        "user_speech_fidelity_rating_2": 0.05,
    }
    assert read_scores(directory) == result.scores


async def test_behind_a_closed_gate_nothing_is_judged(
    validator: Validator, ears: Ears, record: Record, follow_script: Callable[[int], Any]
) -> None:
    directory = follow_script(2).ends("time_limit_exceeded")
    result = await validator.validate(Task(record), directory)
    assert not result.passed
    assert result.failed_metrics == ()
    assert set(result.scores) == {GATE} == set(read_scores(directory))
    assert "time_limit_exceeded" in result.failure_details[GATE]
    assert ears.calls == 0


async def test_a_bypassed_gate_still_reads_zero_but_the_verdict_is_the_metrics(
    validator: Validator, record: Record, follow_script: Callable[[int], Any]
) -> None:
    directory = follow_script(2).ends("time_limit_exceeded")
    result = await validator.validate(Task(record), directory, bypass_gate=True)
    assert result.passed
    assert (result.gate_passed, result.gate_bypassed) == (False, True)
    assert read_scores(directory)[GATE].score == 0.0


async def test_bypassing_an_open_gate_is_no_bypass(
    validator: Validator, record: Record, follow_script: Callable[[int], Any]
) -> None:
    directory = follow_script(3).ends("goodbye")
    result = await validator.validate(Task(record), directory, bypass_gate=True)
    assert result.passed
    assert not result.gate_bypassed


async def test_each_failed_metric_is_named_with_one_line(
    record: Record, follow_script: Callable[[int], Any]
) -> None:
    directory = follow_script(2).ends("goodbye")
    ears = Ears(record, misheard={1: "Nice weather today."})
    result = await Validator(Validation(), ears).validate(Task(record), directory)
    assert not result.passed
    assert result.gate_passed
    assert result.failed_metrics == (USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY)
    assert result.failure_details[USER_BEHAVIORAL_FIDELITY] == "the caller hung up before turn 2"
    assert "turn 1 rated 1" in result.failure_details[USER_SPEECH_FIDELITY]
    assert all("\n" not in line for line in result.failure_details.values())


async def test_a_threshold_of_zero_lets_any_behaviour_pass(
    ears: Ears, record: Record, follow_script: Callable[[int], Any]
) -> None:
    validator = Validator(Validation(user_behavioral_fidelity=0.0), ears)
    directory = follow_script(2).ends("goodbye")
    assert (await validator.validate(Task(record), directory)).passed


async def test_a_judge_that_fails_makes_its_metric_errored_and_the_next_verdict_is_fresh(
    validator: Validator, ears: Ears, record: Record, follow_script: Callable[[int], Any]
) -> None:
    directory = follow_script(3).ends("goodbye")
    ears.broken = True
    result = await validator.validate(Task(record), directory)
    assert not result.passed
    assert result.failed_metrics == ()
    assert result.errored_metrics == (USER_SPEECH_FIDELITY,)
    message = "SpeechEngineError: the model file is damaged"
    assert result.failure_details == {USER_SPEECH_FIDELITY: message}
    assert read_scores(directory)[USER_SPEECH_FIDELITY].error == message

    ears.broken = False
    assert (await validator.validate(Task(record), directory)).passed
    assert read_scores(directory)[USER_SPEECH_FIDELITY].error is None


@pytest.mark.parametrize("bypass", [False, True])
@pytest.mark.parametrize("name", ["audio_user_clean.wav", "audio_user.wav", "audio_assistant.wav"])
async def test_a_missing_recording_is_no_finished_conversation(
    validator: Validator,
    record: Record,
    follow_script: Callable[[int], Any],
    name: str,
    bypass: bool,
) -> None:
    directory = follow_script(3).ends("time_limit_exceeded" if bypass else "goodbye")
    (directory / name).unlink()
    result = await validator.validate(Task(record), directory, bypass_gate=bypass)
    assert not result.passed
    assert not result.gate_passed
    assert result.failed_metrics == result.errored_metrics == ()
    assert name in result.failure_details[GATE]


async def test_a_directory_that_was_never_made_is_not_made_now(
    validator: Validator, record: Record, tmp_path: Path
) -> None:
    result = await validator.validate(Task(record), tmp_path / "nothing")
    assert not result.gate_passed
    assert not (tmp_path / "nothing").exists()


async def test_scores_of_other_metrics_stay(
    validator: Validator, record: Record, follow_script: Callable[[int], Any]
) -> None:
    directory = follow_script(3).ends("goodbye")
    merge_scores(directory, record.id, {"other": MetricScore(name="other", score=0.5)})
    await validator.validate(Task(record), directory)
    document = json.loads((directory / "metrics.json").read_text(encoding="utf-8"))
    assert document["record_id"] == "change flight"
    assert document["metrics"]["other"]["score"] == 0.5


async def test_a_record_without_a_script_has_only_its_gate_judged(
    validator: Validator, call: Any
) -> None:
    record = Record.model_validate({"id": "free talk"})
    result = await validator.validate(Task(record), call.ends("goodbye"))
    assert result.passed
    assert result.scores[USER_BEHAVIORAL_FIDELITY].skipped
    assert result.scores[USER_SPEECH_FIDELITY].skipped


async def test_a_real_eva_conversation_is_judged_without_its_recordings(
    validator: Validator, tmp_path: Path, eva_data: Path
) -> None:
    events = (eva_data / "run/records/1.1.2/elevenlabs_events.jsonl").read_bytes()
    (tmp_path / "elevenlabs_events.jsonl").write_bytes(events)
    record = Record.model_validate({"id": "1.1.2"})
    assert (await validator.validate(Task(record), tmp_path)).passed
