"""What the detectors' answers are worth, counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from observed_calls import accepted, planted, rejected, score, turn

from orchestrator_assets.doctor.diagnosis import Diagnosis, diagnose
from orchestrator_assets.doctor.planted_fault import PlantedFault
from orchestrator_assets.doctor.report import diagnosis_as_json
from orchestrator_assets.doctor.scoring import DetectorScore, Judgement, count, judge

CLIPPED = {"turns": [turn(clipped_share=0.4, faults=("clipped",))]}


def test_an_answer_is_right_or_wrong_by_what_was_planted() -> None:
    clip, slow = PlantedFault.CLIPPED, PlantedFault.SLOW
    assert judge(clip, clip, found=True) is Judgement.TRUE_POSITIVE
    assert judge(clip, clip, found=False) is Judgement.FALSE_NEGATIVE
    assert judge(clip, slow, found=True) is Judgement.FALSE_POSITIVE
    assert judge(clip, None, found=True) is Judgement.FALSE_POSITIVE
    assert judge(clip, slow, found=False) is Judgement.TRUE_NEGATIVE
    assert judge(clip, None, found=False) is Judgement.TRUE_NEGATIVE


def test_precision_is_of_the_findings_and_recall_of_the_planted() -> None:
    counted = count(
        [Judgement.TRUE_POSITIVE] * 3
        + [Judgement.FALSE_POSITIVE]
        + [Judgement.FALSE_NEGATIVE] * 2
        + [Judgement.TRUE_NEGATIVE] * 4
    )
    assert counted == DetectorScore(3, 1, 2, 4)
    assert (counted.precision, counted.recall) == (0.75, 0.6)
    assert (counted.planted, counted.asked) == (5, 10)


def test_what_was_never_found_or_never_planted_has_no_share() -> None:
    assert DetectorScore(0, 0, 5, 10).precision is None
    assert DetectorScore(0, 0, 5, 10).recall == 0
    assert DetectorScore(0, 2, 0, 10).precision == 0
    assert DetectorScore(0, 2, 0, 10).recall is None


@pytest.fixture
def silent_call(tmp_path: Path) -> Path:
    """The files of a call in which nobody said anything."""
    soundfile.write(tmp_path / "audio_user.wav", np.zeros(8_000, dtype=np.int16), 8_000)
    (tmp_path / "user_simulator_events.jsonl").touch()
    return tmp_path


@pytest.fixture
def diagnosis(silent_call: Path) -> Diagnosis:
    """Of two clipped calls one is noticed, and of two slow ones and a clean one, one misjudged."""
    clip, slow = PlantedFault.CLIPPED, PlantedFault.SLOW
    calls = [
        planted("clip_seen", clip),
        planted("clip_missed", clip),
        planted("slow", slow),
        planted("clean"),
        planted("clean_but_rejected"),
    ]
    outcomes = [
        rejected("clip_seen", **CLIPPED),
        accepted("clip_missed"),
        accepted("clean", directory=silent_call),
        rejected("clean_but_rejected", **CLIPPED),
        rejected("slow", **CLIPPED),
    ]
    return diagnose(calls, outcomes)


def test_every_detector_is_asked_about_every_call(diagnosis: Diagnosis) -> None:
    assert {each.asked for each in diagnosis.scores.values()} == {5}
    assert diagnosis.scores[PlantedFault.CLIPPED] == DetectorScore(1, 2, 1, 1)
    assert diagnosis.scores[PlantedFault.SLOW] == DetectorScore(0, 0, 1, 4)
    assert diagnosis.scores[PlantedFault.DEAD_AIR] == DetectorScore(0, 0, 0, 5)


def test_what_is_not_good_enough_is_named(diagnosis: Diagnosis) -> None:
    assert diagnosis.shortcomings == [
        "clipped: precision 0.33, below 0.95",
        "clipped: recall 0.50, below 0.95",
        "slow: recall 0.00, below 0.95",
        "1 of 2 calls with nothing wrong in them were not accepted",
    ]


def test_the_json_lists_every_wrong_answer_with_its_evidence(diagnosis: Diagnosis) -> None:
    report = diagnosis_as_json(diagnosis)
    assert not report["passed"]
    assert report["detectors"]["clipped"]["precision"] == pytest.approx(1 / 3)
    wrong = [(each["call"], each["detector"], each["judgement"]) for each in report["misjudged"]]
    assert wrong == [
        ("clip_missed", "clipped", "false_negative"),
        ("slow", "clipped", "false_positive"),
        ("slow", "slow", "false_negative"),
        ("clean_but_rejected", "clipped", "false_positive"),
    ]
    assert report["misjudged"][1]["evidence"] == "turn 1: 40% clipped"
    assert [each["call"] for each in report["wrongly_rejected"]] == ["clean_but_rejected"]


def test_nothing_is_held_against_detectors_that_are_always_right() -> None:
    calls = [planted("clip", PlantedFault.CLIPPED), planted("claim", PlantedFault.CLAIMED_BOOKING)]
    outcomes = [rejected("clip", **CLIPPED), accepted("claim", score("task_completion", 0.0))]
    found = diagnose(calls, outcomes)
    assert found.shortcomings == []
    assert diagnosis_as_json(found)["passed"]
