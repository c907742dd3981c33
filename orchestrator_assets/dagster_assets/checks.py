"""Asset checks: what can be asked of every task, answered for its partition.

They are declared on the assets of the attempt loop, which logs an answer whenever a task settles,
for failed tasks from their last attempt. Nothing blocks: a check informs, acceptance decides. A
check that is selected by itself is answered from the run directory.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import dagster as dg

from orchestrator_assets.attempts.outcomes import Acceptance, AttemptSummary, Outcome, TaskOutcome
from orchestrator_assets.dagster_assets.keys import TaskAsset, task_asset_key
from orchestrator_assets.dagster_assets.partitions import task_partitions
from orchestrator_assets.dagster_assets.shown_evidence import (
    evidence_numbers,
    evidence_of,
    findings_table,
)
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.validation.result import GATE

logger = logging.getLogger(__name__)


class TaskCheck(StrEnum):
    """The checks of a task."""

    CONVERSATION_VALID_END = "conversation_valid_end"
    TIME_LIMIT_ACCEPTANCE = "time_limit_acceptance"
    CALLER_FIDELITY = "caller_fidelity"
    AUDIO_EVIDENCE = "audio_evidence"


CHECKED_ASSETS = {
    TaskCheck.CONVERSATION_VALID_END: TaskAsset.CONVERSATION,
    TaskCheck.TIME_LIMIT_ACCEPTANCE: TaskAsset.CONVERSATION,
    TaskCheck.CALLER_FIDELITY: TaskAsset.VALIDATION,
    TaskCheck.AUDIO_EVIDENCE: TaskAsset.AUDIO,
}
_DESCRIPTIONS = {
    TaskCheck.CONVERSATION_VALID_END: (
        "The call ended properly: by the caller's goodbye, or because the agent fell silent."
    ),
    TaskCheck.TIME_LIMIT_ACCEPTANCE: (
        "The conversation was accepted because it is valid. A warning: it ran into its time limit "
        "and was accepted because the caller did its part."
    ),
    TaskCheck.CALLER_FIDELITY: "The simulated caller said what its script says, and was audible.",
    TaskCheck.AUDIO_EVIDENCE: (
        "Both tracks are there, whole, as long as the call and loud enough, without clipping, "
        "dropouts or drift, and the transcript tells of all speech."
    ),
}
_SHOWN_FINDINGS = 5
_NOTHING = "there is no conversation to look at"


@dataclass(frozen=True, slots=True)
class _Answer:
    passed: bool
    text: str
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR
    metadata: Mapping[str, dg.MetadataValue] = field(default_factory=dict)


def _warning(text: str, **metadata: dg.MetadataValue) -> _Answer:
    return _Answer(False, text, dg.AssetCheckSeverity.WARN, metadata)


def task_check_specs(evaluation: Evaluation) -> list[dg.AssetCheckSpec]:
    """Return the checks of the partitioned assets of an evaluation."""
    with warnings.catch_warnings():
        # Partitions of checks are a preview; what they are used for here is tested.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(
                check.value,
                asset=task_asset_key(evaluation.name, asset),
                description=_DESCRIPTIONS[check],
                partitions_def=task_partitions(evaluation.name),
            )
            for check, asset in CHECKED_ASSETS.items()
        ]


def check_evaluations(
    evaluation: Evaluation, outcome: TaskOutcome, assets: Collection[TaskAsset] = tuple(TaskAsset)
) -> list[dg.AssetCheckEvaluation]:
    """Return the answers for a settled task, of the checks on these assets."""
    return [
        _evaluation(evaluation, check, outcome)
        for check, asset in CHECKED_ASSETS.items()
        if asset in assets
    ]


def _evaluation(
    evaluation: Evaluation, check: TaskCheck, outcome: TaskOutcome
) -> dg.AssetCheckEvaluation:
    answer = _answer(check, outcome)
    return dg.AssetCheckEvaluation(
        asset_key=task_asset_key(evaluation.name, CHECKED_ASSETS[check]),
        check_name=check.value,
        passed=answer.passed,
        severity=answer.severity,
        description=answer.text,
        partition=outcome.task.key,
        metadata=answer.metadata,
    )


def _answer(check: TaskCheck, outcome: TaskOutcome) -> _Answer:
    attempt = shown_attempt(outcome)
    if attempt is None:
        return _Answer(False, outcome.error or _NOTHING)
    try:
        return _ANSWERS[check](outcome, attempt)
    except Exception as error:
        # Looking at one call must not end a run that others depend on.
        logger.exception("%s of %s could not be answered", check, outcome.task.id)
        return _warning(f"could not be answered: {type(error).__name__}: {error}")


def shown_attempt(outcome: TaskOutcome) -> AttemptSummary | None:
    """Return the accepted attempt, else the last one that was not interrupted, if any."""
    if outcome.accepted_attempt is not None:
        for attempt in outcome.attempts:
            if attempt.number == outcome.accepted_attempt:
                return attempt
    counted = [attempt for attempt in outcome.attempts if not attempt.interrupted]
    return counted[-1] if counted else None


def _valid_end(outcome: TaskOutcome, attempt: AttemptSummary) -> _Answer:
    validation = attempt.validation
    if validation is None:
        return _Answer(False, attempt.reason)
    gate = validation.scores.get(GATE)
    said = None if gate is None else gate.details.get("reason")
    if validation.gate_passed:
        return _Answer(True, str(said or "the call ended properly"))
    reason = str(said or attempt.reason)
    if outcome.accepted:
        return _warning(f"{reason}; accepted all the same")
    return _Answer(False, reason)


def _time_limit(outcome: TaskOutcome, attempt: AttemptSummary) -> _Answer:
    limited = [each for each in outcome.attempts if each.outcome is Outcome.TIME_LIMIT_EXCEEDED]
    if outcome.acceptance is Acceptance.VALIDATED:
        return _Answer(True, f"attempt {attempt.number} was validated")
    if outcome.acceptance is Acceptance.TIME_LIMIT:
        return _warning(
            f"attempt {attempt.number}, one of {len(limited)} that took too long, was accepted at "
            f"its time limit after {attempt.duration_seconds:.0f} s: {attempt.reason}"
        )
    return _Answer(False, f"not acceptable: {attempt.reason}")


def _caller_fidelity(_outcome: TaskOutcome, attempt: AttemptSummary) -> _Answer:
    validation = attempt.validation
    if validation is None or not (validation.gate_passed or validation.gate_bypassed):
        return _warning(f"not judged, as the call did not end properly: {attempt.reason}")
    judged = {name: score for name, score in validation.scores.items() if name != GATE}
    scores = {
        name: dg.MetadataValue.float(round(float(score.normalized_score), 3))
        for name, score in judged.items()
        if score.normalized_score is not None
    }
    if validation.failed_metrics:
        details = validation.failure_details
        text = "; ".join(
            f"{name}: {details.get(name, 'failed')}" for name in validation.failed_metrics
        )
        return _Answer(False, text, metadata=scores)
    if validation.errored_metrics:
        return _warning(f"no answer from {', '.join(validation.errored_metrics)}", **scores)
    if judged and all(score.skipped for score in judged.values()):
        return _Answer(True, "there is no script to compare with")
    return _Answer(True, "the caller did its part", metadata=scores)


def _audio(outcome: TaskOutcome, attempt: AttemptSummary) -> _Answer:
    evidence = evidence_of(outcome.directory or attempt.directory)
    metadata = evidence_numbers(evidence)
    caller = evidence.audio.caller
    if not evidence.findings and caller is not None:
        text = f"both tracks are whole, {caller.duration_seconds:.1f} s each"
        return _Answer(True, text, metadata=metadata)
    metadata["findings"] = findings_table(evidence.findings)
    told = [finding.message for finding in (*evidence.faults, *evidence.doubts)]
    if len(told) > _SHOWN_FINDINGS:
        told[_SHOWN_FINDINGS:] = [f"and {len(told) - _SHOWN_FINDINGS} more"]
    severity = dg.AssetCheckSeverity.ERROR if evidence.faults else dg.AssetCheckSeverity.WARN
    return _Answer(False, "; ".join(told), severity, metadata)


_ANSWERS: Mapping[TaskCheck, Callable[[TaskOutcome, AttemptSummary], _Answer]] = {
    TaskCheck.CONVERSATION_VALID_END: _valid_end,
    TaskCheck.TIME_LIMIT_ACCEPTANCE: _time_limit,
    TaskCheck.CALLER_FIDELITY: _caller_fidelity,
    TaskCheck.AUDIO_EVIDENCE: _audio,
}
