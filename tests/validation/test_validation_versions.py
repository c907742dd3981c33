"""Which version a validation score is of, and when it makes a conversation stale."""

from __future__ import annotations

import pytest

from orchestrator_assets.evaluation import SpeechJudge, Validation
from orchestrator_assets.judges.prompt import Prompt
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.validation import (
    behavioral_fidelity,
    gate,
    judged_behavior,
    judged_speech,
    speech_fidelity,
)
from orchestrator_assets.validation.result import (
    GATE,
    UNJUDGED,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
)
from orchestrator_assets.validation.versions import recorded_version, validation_versions

READ = Validation()
LISTENED_TO = Validation.model_validate(
    {"user_speech_fidelity": {"judged_by": SpeechJudge.AUDIO_JUDGE}}
)


def behaves(version: str | None, *, has_judge: bool) -> bool:
    """Tell whether a behaviour score of this version is a present one."""
    score = MetricScore(name=USER_BEHAVIORAL_FIDELITY, version=version)
    counts_as = recorded_version(score.name, score, READ, has_judge=has_judge)
    return counts_as == validation_versions(READ, has_judge=has_judge)[score.name]


def speaks(version: str | None, validation: Validation) -> bool:
    score = MetricScore(name=USER_SPEECH_FIDELITY, version=version)
    counts_as = recorded_version(score.name, score, validation, has_judge=False)
    return counts_as == validation_versions(validation, has_judge=False)[score.name]


def test_without_judges_the_versions_are_those_of_the_rules_and_the_recogniser() -> None:
    assert validation_versions(READ, has_judge=False) == {
        GATE: gate.VERSION,
        USER_BEHAVIORAL_FIDELITY: behavioral_fidelity.VERSION,
        USER_SPEECH_FIDELITY: speech_fidelity.VERSION,
    }


def test_a_judge_does_not_make_what_rules_judged_stale_nor_the_other_way_round() -> None:
    assert behaves(behavioral_fidelity.VERSION, has_judge=True)
    assert behaves(judged_behavior.judged_version(), has_judge=True)


def test_another_version_is_stale() -> None:
    assert not behaves("1", has_judge=True)
    assert not behaves("1", has_judge=False)
    assert not behaves(f"{judged_behavior.VERSION}-000000000000", has_judge=True)


def test_what_was_not_judged_for_want_of_a_judge_is_stale_once_there_is_one() -> None:
    assert behaves(UNJUDGED, has_judge=False)
    assert not behaves(UNJUDGED, has_judge=True)
    assert speaks(UNJUDGED, READ)
    assert not speaks(UNJUDGED, LISTENED_TO)


def test_what_nothing_can_judge_needs_no_judging_again() -> None:
    assert behaves(None, has_judge=True)
    assert speaks(None, LISTENED_TO)


def test_another_listener_makes_the_speech_stale() -> None:
    assert speaks(speech_fidelity.VERSION, READ)
    assert not speaks(speech_fidelity.VERSION, LISTENED_TO)
    assert speaks(judged_speech.judged_version(), LISTENED_TO)


@pytest.mark.parametrize("name", ["turn_prompt", "call_prompt"])
def test_a_changed_prompt_changes_the_version(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = judged_speech.judged_version()
    monkeypatch.setattr(judged_speech, name, lambda: Prompt("other", "1", "Is it $text?"))
    assert judged_speech.judged_version() != before


def test_a_changed_measurement_changes_the_version_of_judged_speech_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = judged_speech.judged_version()
    monkeypatch.setattr(speech_fidelity, "VERSION", "next")
    assert judged_speech.judged_version() != before
