"""What the UI shows of a task."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import dagster as dg
import numpy as np
import pytest
from evaluation_fakes import write_call

from orchestrator_assets.attempts.outcomes import (
    Acceptance,
    AttemptSummary,
    Cause,
    Outcome,
    TaskOutcome,
)
from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    EndReason,
)
from orchestrator_assets.dagster_assets.keys import TaskAsset
from orchestrator_assets.dagster_assets.markdown import markdown_table
from orchestrator_assets.dagster_assets.task_metadata import failures_table, task_metadata
from orchestrator_assets.dagster_assets.transcript import clock_time
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import Composite, Composites
from orchestrator_assets.records import Record, Task
from orchestrator_assets.validation.result import GATE, USER_SPEECH_FIDELITY, ValidationResult

TASK = Task(Record(id="Größe | 1"))


def attempt(number: int, outcome: Outcome, validation: ValidationResult) -> AttemptSummary:
    return AttemptSummary(
        number=number,
        outcome=outcome,
        cause=None if outcome is Outcome.PASSED else Cause.CALLER,
        ended_reason=EndReason.GOODBYE,
        duration_seconds=62.0,
        reason="a reason",
        directory=Path("somewhere"),
        validation=validation,
    )


@pytest.fixture
def outcome(tmp_path: Path) -> TaskOutcome:
    write_call(TASK, 2, tmp_path, EndReason.GOODBYE, "fingerprint")
    bad = ValidationResult(
        gate_passed=True,
        scores={USER_SPEECH_FIDELITY: MetricScore(name=USER_SPEECH_FIDELITY, normalized_score=0)},
        failed_metrics=(USER_SPEECH_FIDELITY,),
        failure_details={USER_SPEECH_FIDELITY: "turn 1 was misheard"},
    )
    good = ValidationResult(
        gate_passed=True,
        scores={
            GATE: MetricScore(name=GATE, score=1, normalized_score=1, details={"reason": "bye"}),
            USER_SPEECH_FIDELITY: MetricScore(
                name=USER_SPEECH_FIDELITY, score=3, normalized_score=0.975, details={"turns": 2}
            ),
        },
        thresholds={GATE: 1.0},
    )
    return TaskOutcome(
        task=TASK,
        acceptance=Acceptance.VALIDATED,
        attempts=(
            attempt(1, Outcome.VALIDATION_FAILED, bad),
            attempt(2, Outcome.PASSED, good),
        ),
        attempts_made=2,
        accepted_attempt=2,
        directory=tmp_path,
        metrics={
            "task_completion": MetricScore(name="task_completion", score=1, normalized_score=1),
            "response_latency": MetricScore(name="response_latency", error="no turn"),
        },
    )


def text(value: dg.MetadataValue) -> str:
    assert isinstance(value, dg.TextMetadataValue | dg.MarkdownMetadataValue)
    return str(value.value)


def test_a_conversation_is_shown_as_a_timeline(outcome: TaskOutcome) -> None:
    metadata = task_metadata(TaskAsset.CONVERSATION, outcome)

    assert text(metadata["transcript"]).split("\n") == [
        "| time | who | text |",
        "|---|---|---|",
        "| 0:00.5 | agent | Hello? |",
        r"| 1:01.3 | caller | A \| b \<i\> |",
    ]
    assert metadata["ended_reason"].value == "goodbye"
    assert metadata["clock"].value == "media"
    assert metadata["acceptance"].value == "validated"
    assert metadata["record_id"].value == "Größe | 1"
    assert text(metadata["attempts"]).split("\n")[2:] == [
        "| 1 | validation failed | caller | 62.0 | a reason |",
        "| 2 | passed |  | 62.0 | a reason |",
    ]


def test_audio_is_shown_as_a_small_picture_with_its_levels(
    outcome: TaskOutcome, tmp_path: Path
) -> None:
    tone = (10_000 * np.sin(np.arange(16_000) * 0.3)).astype(np.int16)
    for name, samples in ((CALLER_AUDIO_FILE, tone), (AGENT_AUDIO_FILE, np.zeros_like(tone))):
        with WavWriter(tmp_path / name, 8_000) as writer:
            writer.append(samples)

    metadata = task_metadata(TaskAsset.AUDIO, outcome)

    assert metadata["duration_seconds"].value == pytest.approx(2.0)
    assert metadata["caller_speech_dbfs"].value == pytest.approx(-13.3, abs=0.1)
    assert metadata["caller_peak_dbfs"].value == pytest.approx(-10.3, abs=0.1)
    assert "agent_speech_dbfs" not in metadata
    picture = text(metadata["waveform"])
    assert picture.startswith("![caller above, agent below](data:image/svg+xml;base64,")
    assert len(picture) < 50_000


@pytest.mark.parametrize("asset", list(TaskAsset))
def test_missing_files_are_said_to_be_missing_and_fail_nothing(
    asset: TaskAsset, outcome: TaskOutcome, tmp_path: Path
) -> None:
    gone = dataclasses.replace(outcome, directory=tmp_path / "gone")

    metadata = task_metadata(asset, gone)

    shown = " ".join(str(value.value) for value in metadata.values() if hasattr(value, "value"))
    if asset in (TaskAsset.CONVERSATION, TaskAsset.AUDIO):
        assert "can't be read" in shown


def test_validation_shows_each_score_against_its_threshold(outcome: TaskOutcome) -> None:
    metadata = task_metadata(TaskAsset.VALIDATION, outcome)

    verdicts = text(metadata["verdicts"])
    assert "| conversation valid end | 1 | 1 | passed | bye |" in verdicts
    assert "| user speech fidelity | 0.975 |  | passed | turns 2 |" in verdicts
    assert metadata[USER_SPEECH_FIDELITY].value == 0.975


def test_metrics_are_numbers_that_plot(outcome: TaskOutcome) -> None:
    metadata = task_metadata(TaskAsset.METRICS, outcome)

    assert metadata["task_completion"] == dg.MetadataValue.float(1.0)
    assert "response_latency" not in metadata
    assert "no turn" in text(metadata["scores"])


def test_a_record_summary_is_one_line(outcome: TaskOutcome) -> None:
    metadata = task_metadata(TaskAsset.RECORD_SUMMARY, outcome)

    assert text(metadata["summary"]) == (
        "accepted on attempt 2 of 2; 62 s of conversation; task completion 1; response latency none"
    )


def test_composites_stand_on_the_record_summary(outcome: TaskOutcome) -> None:
    composites = Composites(
        {
            "EVA-A_pass": Composite(all={"task_completion": 1.0}),
            "Ganzes": Composite(mean=("task_completion", "response_latency")),
            "summary": Composite(mean=("task_completion",)),
        }
    )

    metadata = task_metadata(TaskAsset.RECORD_SUMMARY, outcome, composites=composites)

    assert metadata["EVA-A_pass"] == dg.MetadataValue.float(1.0)
    assert "Ganzes" not in metadata
    rows = text(metadata["composites"]).split("\n")[2:]
    assert rows[1] == r"| Ganzes | error |  | response\_latency: no turn |"
    # No composite takes the place of what the asset says of itself.
    assert text(metadata["summary"]).startswith("accepted on attempt 2")
    assert "composites" not in task_metadata(TaskAsset.METRICS, outcome, composites=composites)


def test_everything_can_be_stored_by_dagster(outcome: TaskOutcome) -> None:
    for asset in TaskAsset:
        event = dg.AssetMaterialization("any", metadata=task_metadata(asset, outcome))
        assert dg.deserialize_value(dg.serialize_value(event)) == event


def test_a_failure_without_attempts_says_what_went_wrong() -> None:
    settled = TaskOutcome(TASK, None, (), 0, error="OSError: disk full")

    (row,) = failures_table([settled]).records

    assert row.data["reason"] == "OSError: disk full"


def test_cells_hold_any_text_on_one_line() -> None:
    assert markdown_table(("a",), [("x\ny `|` $1",)]).endswith(r"| x y \`\|\` \$1 |")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00.0"), (59.96, "1:00.0"), (61.26, "1:01.3"), (600, "10:00.0")]
)
def test_times_of_a_call_carry_over(seconds: float, shown: str) -> None:
    assert clock_time(seconds) == shown
