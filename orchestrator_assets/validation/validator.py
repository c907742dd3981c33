"""Validates a conversation: the gate, then whether the caller did its part."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator_assets.call.conversation import CLEAN_CALLER_AUDIO_FILE
from orchestrator_assets.call.speech.base import SpeechToText
from orchestrator_assets.errors import ConversationFileError, JudgeError
from orchestrator_assets.evaluation import Caller, SpeechJudge, Validation
from orchestrator_assets.judges.judges import Judges
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.records import Record, Task
from orchestrator_assets.validation.behavioral_fidelity import score_behavioral_fidelity
from orchestrator_assets.validation.evidence import CallerEvidence, read_evidence
from orchestrator_assets.validation.gate import rejected, score_valid_end
from orchestrator_assets.validation.judged_speech import judge_turns
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
    ValidationResult,
)
from orchestrator_assets.validation.speech_fidelity import score_speech_fidelity, speaks_as_meant
from orchestrator_assets.validation.unscripted import (
    are_timed,
    follows_no_script,
    is_adopted,
    judge_unscripted_behavior,
    judge_untimed_speech,
    meant_by_its_events,
    speech_skipped,
)

if TYPE_CHECKING:
    from orchestrator_assets.judges.judge import Judge

_GATE_THRESHOLD = 1.0
_logger = logging.getLogger(__name__)


class Validator:
    """Judges conversations by an evaluation's thresholds; takes nothing from earlier verdicts.

    Rules and the recogniser judge scripted callers. Without `judges` nothing else is judged.
    `caller` are the settings the calls are placed with; the defaults if absent.
    """

    def __init__(
        self,
        validation: Validation,
        speech_to_text: SpeechToText,
        *,
        judges: Judges | None = None,
        caller: Caller | None = None,
    ) -> None:
        self._validation = validation
        self._speech_to_text = speech_to_text
        self._judges = judges
        self._caller = caller

    async def validate(
        self, task: Task, directory: Path, *, bypass_gate: bool = False
    ) -> ValidationResult:
        """Return the verdict on the conversation in `directory`, and merge it into `metrics.json`.

        A call that did not end properly is only judged further with `bypass_gate`. One whose files
        are missing or damaged does not pass the gate, bypassed or not. A judge that fails makes its
        metric errored, not failed, and the other one is judged all the same. Raises OSError if the
        scores can't be written.
        """
        gate = await asyncio.to_thread(score_valid_end, directory)
        gate_passed = gate.score == _GATE_THRESHOLD
        metrics: dict[str, MetricScore] = {}
        bypassed = bypass_gate and not gate_passed
        if gate_passed or bypassed:
            try:
                metrics = await self._judge(task.record, directory)
            except ConversationFileError as error:
                gate, gate_passed, bypassed = rejected(str(error)), False, False
        result = self._verdict(gate, metrics, gate_passed=gate_passed, bypassed=bypassed)
        # A worker that could not even begin has left no directory, and there is nothing to keep.
        if directory.is_dir():
            await asyncio.to_thread(merge_scores, directory, task.id, result.scores)
        return result

    async def _judge(self, record: Record, directory: Path) -> dict[str, MetricScore]:
        """Return the validation metrics. Raises ConversationFileError for missing evidence."""
        no_script = await asyncio.to_thread(follows_no_script, record, directory)
        behavior: Awaitable[MetricScore]
        if no_script is None:
            evidence = await asyncio.to_thread(read_evidence, directory, self._caller)
            behavior = asyncio.to_thread(score_behavioral_fidelity, record, evidence)
            speech = self._speech(record, evidence, directory)
        else:
            behavior = judge_unscripted_behavior(record, directory, self._judges, no_script)
            speech = self._unscripted_speech(directory, no_script)
        scores = await asyncio.gather(
            _judged(USER_BEHAVIORAL_FIDELITY, behavior), _judged(USER_SPEECH_FIDELITY, speech)
        )
        return {score.name: score for score in scores}

    async def _speech(
        self, record: Record | None, evidence: CallerEvidence, directory: Path
    ) -> MetricScore:
        thresholds = self._validation.user_speech_fidelity
        if thresholds.judged_by is SpeechJudge.AUDIO_JUDGE:
            judge = await self._audio_judge()
            return await judge_turns(record, evidence, judge, thresholds, directory)
        return await asyncio.to_thread(
            score_speech_fidelity, record, evidence, self._speech_to_text, thresholds
        )

    async def _unscripted_speech(self, directory: Path, no_script: str) -> MetricScore:
        if not (directory / CLEAN_CALLER_AUDIO_FILE).is_file():
            adopted = await asyncio.to_thread(is_adopted, directory)
            where = "in the adopted run" if adopted else "of the caller"
            return speech_skipped(f"no audio {where}")
        turns = await asyncio.to_thread(meant_by_its_events, directory)
        if not turns:
            return speech_skipped(f"{no_script}, and its events do not hold what it meant to say")
        if not are_timed(turns):
            judged_by = self._validation.user_speech_fidelity.judged_by
            return await judge_untimed_speech(directory, turns, judged_by, self._judges, no_script)
        try:
            evidence = await asyncio.to_thread(read_evidence, directory, self._caller, turns=turns)
        except ConversationFileError as error:
            return speech_skipped(f"there is nothing to listen to: {error}")
        return await self._speech(None, evidence, directory)

    async def _audio_judge(self) -> Judge:
        if self._judges is None:
            raise JudgeError("the evaluation has no `audio_judge` to listen to the caller")
        return await self._judges.audio()

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
        bounds = {"quietest_dbfs": speech.quietest_dbfs, "most_clipped": speech.most_clipped}
        if speech.judged_by is SpeechJudge.RECOGNISER:
            bounds |= {"rating_3": speech.rating_3, "rating_2": speech.rating_2}
        return {
            GATE: _GATE_THRESHOLD,
            USER_BEHAVIORAL_FIDELITY: self._validation.user_behavioral_fidelity,
            **{f"{USER_SPEECH_FIDELITY}_{name}": value for name, value in bounds.items()},
        }


async def _judged(name: str, judging: Awaitable[MetricScore]) -> MetricScore:
    try:
        return await judging
    except Exception as error:
        _logger.warning("%s could not be judged", name, exc_info=True)
        use = error.use if isinstance(error, JudgeError) else None
        return MetricScore(name=name, error=f"{type(error).__name__}: {error}", judge=use)
