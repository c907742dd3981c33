"""Validates a conversation: the gate, then whether the caller did its part."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from orchestrator_assets.call.conversation import ADOPTED_FINGERPRINT, CLEAN_CALLER_AUDIO_FILE
from orchestrator_assets.call.conversation_files import read_result
from orchestrator_assets.call.speech.base import SpeechToText
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.evaluation import Validation
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.records import Record, Task
from orchestrator_assets.validation.behavioral_fidelity import score_behavioral_fidelity
from orchestrator_assets.validation.evidence import read_evidence
from orchestrator_assets.validation.gate import rejected, score_valid_end
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
    ValidationResult,
)
from orchestrator_assets.validation.speech_fidelity import score_speech_fidelity, speaks_as_meant

_GATE_THRESHOLD = 1.0
_logger = logging.getLogger(__name__)


class Validator:
    """Judges conversations by an evaluation's thresholds; takes nothing from earlier verdicts."""

    def __init__(self, validation: Validation, speech_to_text: SpeechToText) -> None:
        self._validation = validation
        self._speech_to_text = speech_to_text

    async def validate(
        self, task: Task, directory: Path, *, bypass_gate: bool = False
    ) -> ValidationResult:
        """Return the verdict on the conversation in `directory`, and merge it into `metrics.json`.

        A call that did not end properly is only judged further with `bypass_gate`. One whose files
        are missing or damaged does not pass the gate, bypassed or not. A judge that fails makes its
        metric errored, not failed. Raises OSError if the scores can't be written.
        """
        return await asyncio.to_thread(self._validate, task, directory, bypass_gate)

    def _validate(self, task: Task, directory: Path, bypass_gate: bool) -> ValidationResult:
        gate = score_valid_end(directory)
        gate_passed = gate.score == _GATE_THRESHOLD
        metrics: dict[str, MetricScore] = {}
        bypassed = bypass_gate and not gate_passed
        if gate_passed or bypassed:
            try:
                metrics = self._judge(task.record, directory)
            except ConversationFileError as error:
                gate, gate_passed, bypassed = rejected(str(error)), False, False
        result = self._verdict(gate, metrics, gate_passed=gate_passed, bypassed=bypassed)
        # A worker that could not even begin has left no directory, and there is nothing to keep.
        if directory.is_dir():
            merge_scores(directory, task.id, result.scores)
        return result

    def _judge(self, record: Record, directory: Path) -> dict[str, MetricScore]:
        """Return the validation metrics. Raises ConversationFileError for missing evidence."""
        skipped = _skipped_fidelities(record, directory)
        if skipped is not None:
            return skipped
        evidence = read_evidence(directory)
        return {
            USER_BEHAVIORAL_FIDELITY: _judged(
                USER_BEHAVIORAL_FIDELITY, lambda: score_behavioral_fidelity(record, evidence)
            ),
            USER_SPEECH_FIDELITY: _judged(
                USER_SPEECH_FIDELITY,
                lambda: score_speech_fidelity(
                    record,
                    evidence,
                    self._speech_to_text,
                    self._validation.user_speech_fidelity,
                ),
            ),
        }

    def _verdict(
        self,
        gate: MetricScore,
        metrics: dict[str, MetricScore],
        *,
        gate_passed: bool,
        bypassed: bool,
    ) -> ValidationResult:
        errored = tuple(name for name, score in metrics.items() if score.error is not None)
        failed = tuple(
            name for name, score in metrics.items() if name not in errored and self._fails(score)
        )
        details = {name: str(metrics[name].details["reason"]) for name in failed}
        details |= {name: str(metrics[name].error) for name in errored}
        if not gate_passed:
            details[GATE] = str(gate.details["reason"])
        return ValidationResult(
            gate_passed=gate_passed,
            gate_bypassed=bypassed,
            scores={GATE: gate, **metrics},
            thresholds=self._thresholds(),
            failed_metrics=failed,
            errored_metrics=errored,
            failure_details=details,
        )

    def _fails(self, score: MetricScore) -> bool:
        if score.skipped:
            return False
        if score.name == USER_SPEECH_FIDELITY:
            return not speaks_as_meant(score)
        return score.score is None or score.score < self._validation.user_behavioral_fidelity

    def _thresholds(self) -> dict[str, float]:
        speech = self._validation.user_speech_fidelity
        return {
            GATE: _GATE_THRESHOLD,
            USER_BEHAVIORAL_FIDELITY: self._validation.user_behavioral_fidelity,
            f"{USER_SPEECH_FIDELITY}_rating_3": speech.rating_3,
            f"{USER_SPEECH_FIDELITY}_rating_2": speech.rating_2,
        }


def _judged(name: str, judge: Callable[[], MetricScore]) -> MetricScore:
    try:
        return judge()
    except Exception as error:
        _logger.warning("%s could not be judged", name, exc_info=True)
        return MetricScore(name=name, error=f"{type(error).__name__}: {error}")


def _skipped_fidelities(record: Record, directory: Path) -> dict[str, MetricScore] | None:
    """Return both validation metrics as skipped where there is nothing to judge the caller by.

    An adopted conversation's caller was a language model, whatever script its record has now.
    """
    adopted = _is_adopted(directory)
    if record.turns and not adopted:
        return None
    why = "the record has no script to compare with"
    if adopted:
        why = "the adopted run's caller followed no script"
    unheard = adopted and not (directory / CLEAN_CALLER_AUDIO_FILE).is_file()
    return {
        USER_BEHAVIORAL_FIDELITY: _skipped(USER_BEHAVIORAL_FIDELITY, why),
        USER_SPEECH_FIDELITY: _skipped(
            USER_SPEECH_FIDELITY, "no audio in the adopted run" if unheard else why
        ),
    }


def _is_adopted(directory: Path) -> bool:
    try:
        return read_result(directory).fingerprint == ADOPTED_FINGERPRINT
    except ConversationFileError:
        # Whoever reads the result for its own sake complains; nothing says that it was adopted.
        return False


def _skipped(name: str, reason: str) -> MetricScore:
    return MetricScore(name=name, skipped=True, details={"reason": reason})
