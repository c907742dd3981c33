"""How long a call was by its recording, by its own clock and by the wall's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator_assets.audio.findings import FindingKind, Severity
from orchestrator_assets.call.call_length import length_findings, repair_findings
from orchestrator_assets.call.conversation import (
    ADOPTED_FINGERPRINT,
    ConversationResult,
    EndReason,
)


def result(
    seconds: float = 60.0, *, elapsed: float = 60.0, clock: str = "wall", **fields: Any
) -> ConversationResult:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return ConversationResult.model_validate(
        {
            "record_id": "a",
            "task_id": "a",
            "attempt": 1,
            "completed": True,
            "started_at": began,
            "ended_at": began + timedelta(seconds=elapsed),
            "duration_seconds": seconds,
            "conversation_ended_reason": EndReason.GOODBYE,
            "fingerprint": "f",
            "clock": clock,
            **fields,
        }
    )


def kinds(call: ConversationResult, recorded_seconds: float) -> list[FindingKind]:
    return [finding.kind for finding in length_findings(call, recorded_seconds)]


@pytest.mark.parametrize("recorded", [60.0, 60.02, 59.98])
def test_a_recording_as_long_as_the_call_is_sound(recorded: float) -> None:
    assert kinds(result(elapsed=60.1), recorded) == []


@pytest.mark.parametrize("recorded", [20.0, 59.9, 60.1])
def test_a_recording_of_another_length_is_a_fault(recorded: float) -> None:
    (finding,) = length_findings(result(clock="media"), recorded)

    assert (finding.kind, finding.severity) == (FindingKind.WRONG_LENGTH, Severity.FAULT)
    assert finding.measured["difference_seconds"] == pytest.approx(recorded - 60)


@pytest.mark.parametrize("elapsed", [40.0, 58.0, 62.0, 300.0])
def test_a_call_the_wall_clock_says_was_shorter_or_longer_is_a_doubt(elapsed: float) -> None:
    assert kinds(result(elapsed=elapsed), 60.0) == [FindingKind.WALL_CLOCK]


def test_on_the_media_clock_a_call_takes_no_time_of_the_wall() -> None:
    assert kinds(result(elapsed=1.5, clock="media"), 60.0) == []


def test_connecting_and_hanging_up_count_in_the_time_of_evas_calls() -> None:
    adopted = {"fingerprint": ADOPTED_FINGERPRINT}
    assert kinds(result(67.0, elapsed=67.0, **adopted), 60.0) == []
    # Silence between what was said has collapsed.
    assert kinds(result(67.0, elapsed=67.0, **adopted), 21.0) == [FindingKind.WALL_CLOCK]


def test_a_killed_call_ends_by_the_wall_clock_when_it_was_found() -> None:
    assert kinds(result(elapsed=75.0, audio_repaired=False), 60.0) == []


def test_repaired_files_are_named() -> None:
    repaired = result(audio_repaired=True, audio_repaired_files=["audio_user.wav", "b.wav"])

    (finding,) = repair_findings(repaired)

    assert (finding.kind, finding.severity) == (FindingKind.REPAIRED, Severity.DOUBT)
    assert "the headers of audio_user.wav, b.wav were repaired" in finding.message
    assert "its recordings" in next(repair_findings(result(audio_repaired=True))).message
    assert list(repair_findings(result(audio_repaired=False))) == []
    assert list(repair_findings(result())) == []
