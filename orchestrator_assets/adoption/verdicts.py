"""EVA's own verdict on an archived attempt, from the scores it left in `metrics.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator_assets.adoption.eva_config import EvaConfig
from orchestrator_assets.attempts.classification import Verdict, classify
from orchestrator_assets.attempts.outcomes import Cause, Outcome
from orchestrator_assets.call.conversation import METRICS_FILE, ConversationResult
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
    ValidationResult,
)
from orchestrator_assets.validation.speech_fidelity import speaks_as_meant

_LEGACY_GATE = "conversation_finished"
_FIDELITIES = (USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY)


def eva_verdict(directory: Path, result: ConversationResult | None, config: EvaConfig) -> Verdict:
    """Return how EVA found that an attempt ended.

    Without scores it can only have been given up for not finished; EVA judges every call that did.
    """
    if result is None:
        return Verdict(Outcome.NOT_FINISHED, Cause.HARNESS, "EVA left no result of this attempt")
    scores = _scores(directory)
    gate = scores.get(GATE)
    gate_passed = gate is not None and gate.error is None and gate.score == 1.0
    fidelities = {name: scores[name] for name in _FIDELITIES if name in scores}
    errored = tuple(name for name, score in fidelities.items() if score.error is not None)
    failed = tuple(
        name for name, score in fidelities.items() if name not in errored and _fails(score, config)
    )
    judged = {name: scores[name] for name in (GATE, *_FIDELITIES) if name in scores}
    validation = ValidationResult(
        gate_passed=gate_passed,
        gate_bypassed=not gate_passed and bool(fidelities),
        scores=judged,
        thresholds={
            GATE: 1.0,
            USER_BEHAVIORAL_FIDELITY: config.threshold(USER_BEHAVIORAL_FIDELITY),
        },
        failed_metrics=failed,
        errored_metrics=errored,
        failure_details=dict.fromkeys(failed, "by EVA's judge"),
    )
    return classify(result, validation)


def _fails(score: MetricScore, config: EvaConfig) -> bool:
    if score.skipped:
        return False
    if score.name == USER_SPEECH_FIDELITY and "per_turn_ratings" in score.details:
        return not speaks_as_meant(score)
    return score.score is None or score.score < config.threshold(score.name)


def _scores(directory: Path) -> dict[str, MetricScore]:
    """Return the scores that can be read; a damaged file costs a verdict, not the adoption."""
    try:
        document = json.loads((directory / METRICS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    metrics = document.get("metrics") if isinstance(document, Mapping) else None
    scores = {}
    for name, value in metrics.items() if isinstance(metrics, Mapping) else ():
        own_name = GATE if name == _LEGACY_GATE else name
        score = _score(own_name, value)
        if score is not None:
            scores[own_name] = score
    return scores


def _score(name: str, value: Any) -> MetricScore | None:
    try:
        return MetricScore.model_validate({**value, "name": name})
    except (TypeError, ValidationError):
        return None
