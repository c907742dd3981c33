"""Metadata of the partitioned assets: what a person wants to see of a settled task.

Bodies stay on disk; Dagster's event log gets what fits on a screen. A file that is missing or
can't be read is said to be so in the metadata: showing a conversation never fails a run.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from orchestrator_assets.attempts.outcomes import Acceptance, AttemptSummary, TaskOutcome
from orchestrator_assets.call.conversation import MIXED_AUDIO_FILE, RESULT_FILE, ConversationResult
from orchestrator_assets.dagster_assets.audio_metadata import audio_metadata
from orchestrator_assets.dagster_assets.file_links import FileLinks
from orchestrator_assets.dagster_assets.keys import TaskAsset
from orchestrator_assets.dagster_assets.markdown import escape, markdown_table
from orchestrator_assets.dagster_assets.transcript import read_transcript, transcript_table
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import Composites
from orchestrator_assets.validation.result import GATE, ValidationResult

logger = logging.getLogger(__name__)

Metadata = dict[str, dg.MetadataValue]

_SHOWN_EVIDENCE_CHARACTERS = 300
_SHOWN_REASON_CHARACTERS = 120


def task_metadata(
    asset: TaskAsset,
    outcome: TaskOutcome,
    links: FileLinks | None = None,
    composites: Composites | None = None,
) -> Metadata:
    """Return the metadata of one asset of an accepted task, the most telling first.

    The `composites` are shown on its summary.
    """
    links = links or FileLinks()
    try:
        shown = _BUILDERS[asset](outcome, links)
        if asset is TaskAsset.RECORD_SUMMARY and composites is not None:
            shown = {**_composites(composites.scores(outcome.metrics or {})), **shown}
    except Exception as error:
        logger.exception("%s of %s can't be shown", asset, outcome.task.id)
        shown = {"error": dg.MetadataValue.text(f"can't be shown: {error}")}
    return {**shown, **_identity(outcome, links)}


def _identity(outcome: TaskOutcome, links: FileLinks) -> Metadata:
    identity: Metadata = {
        "record_id": dg.MetadataValue.text(outcome.task.record.id),
        "reused": dg.MetadataValue.bool(outcome.reused),
    }
    if outcome.task.trial is not None:
        identity["trial"] = dg.MetadataValue.int(outcome.task.trial)
    if outcome.directory is not None:
        identity["directory"] = links.to(outcome.directory)
    return identity


def _conversation(outcome: TaskOutcome, links: FileLinks) -> Metadata:
    directory = _directory(outcome)
    metadata: Metadata = {"transcript": dg.MetadataValue.md(_transcript(directory))}
    try:
        text = (directory / RESULT_FILE).read_text(encoding="utf-8")
        result = ConversationResult.model_validate_json(text)
    except (OSError, ValueError) as error:
        metadata["result"] = dg.MetadataValue.text(f"can't be read: {error}")
    else:
        metadata |= {
            "ended_reason": dg.MetadataValue.text(result.conversation_ended_reason.value),
            "duration_seconds": dg.MetadataValue.float(round(result.duration_seconds, 1)),
            "turns": dg.MetadataValue.int(result.num_turns),
            "tool_calls": dg.MetadataValue.int(result.num_tool_calls),
            "clock": dg.MetadataValue.text(result.clock),
        }
    return {
        **metadata,
        **_acceptance(outcome),
        "attempts": dg.MetadataValue.md(attempts_table(outcome)),
        "recording": links.to(directory / MIXED_AUDIO_FILE),
        "result_file": links.to(directory / RESULT_FILE),
    }


def _acceptance(outcome: TaskOutcome) -> Metadata:
    # Dagster stores exact strings only, no members of a StrEnum.
    acceptance = outcome.acceptance.value if outcome.acceptance else "not accepted"
    metadata: Metadata = {
        "acceptance": dg.MetadataValue.text(acceptance),
        "attempts_so_far": dg.MetadataValue.int(len(outcome.attempts)),
    }
    accepted = _accepted_attempt(outcome)
    if accepted is not None and accepted.cause is not None:
        metadata["cause"] = dg.MetadataValue.text(accepted.cause.value)
    causes = Counter(
        attempt.cause.value
        for attempt in outcome.attempts
        if attempt.cause is not None and attempt.number != outcome.accepted_attempt
    )
    if causes:
        text = ", ".join(f"{cause}: {count}" for cause, count in causes.most_common())
        metadata["causes_of_failed_attempts"] = dg.MetadataValue.text(text)
    return metadata


def _transcript(directory: Path) -> str:
    try:
        return transcript_table(read_transcript(directory))
    except (OSError, ValueError) as error:
        return escape(f"The transcript can't be read: {error}")


def attempts_table(outcome: TaskOutcome) -> str:
    """Return every attempt of the task's life as a Markdown table."""
    return markdown_table(
        ("attempt", "outcome", "cause", "seconds", "what happened"),
        [
            (
                str(attempt.number),
                "interrupted" if attempt.interrupted else _words(attempt.outcome.value),
                attempt.cause.value if attempt.cause else "",
                f"{attempt.duration_seconds:.1f}",
                _shortened(attempt.reason, _SHOWN_REASON_CHARACTERS),
            )
            for attempt in outcome.attempts
        ],
    )


def _audio(outcome: TaskOutcome, links: FileLinks) -> Metadata:
    return audio_metadata(_directory(outcome), links)


def _validation(outcome: TaskOutcome, _links: FileLinks) -> Metadata:
    attempt = _accepted_attempt(outcome)
    validation = None if attempt is None else attempt.validation
    if validation is None:
        return {"validation": dg.MetadataValue.text("no verdict is on record")}
    metadata: Metadata = {
        "verdicts": dg.MetadataValue.md(_verdicts(validation)),
        "passed": dg.MetadataValue.bool(validation.passed),
        "gate_bypassed": dg.MetadataValue.bool(validation.gate_bypassed),
    }
    for name, score in validation.scores.items():
        if score.normalized_score is not None:
            metadata[name] = dg.MetadataValue.float(round(float(score.normalized_score), 3))
    return metadata


def _verdicts(validation: ValidationResult) -> str:
    return markdown_table(
        ("metric", "score", "threshold", "verdict", "evidence"),
        [
            (
                _words(name),
                _number(score.normalized_score),
                _threshold(name, validation),
                _verdict(name, validation),
                _evidence(score, validation.failure_details.get(name)),
            )
            for name, score in validation.scores.items()
        ],
    )


def _threshold(name: str, validation: ValidationResult) -> str:
    if name in validation.thresholds:
        return _number(validation.thresholds[name])
    # Speech fidelity has a bound for each of its ratings instead.
    return ", ".join(
        f"{_words(bound.removeprefix(f'{name}_'))}: {_number(value)}"
        for bound, value in validation.thresholds.items()
        if bound.startswith(f"{name}_")
    )


def _verdict(name: str, validation: ValidationResult) -> str:
    if name in validation.errored_metrics:
        return "no answer"
    if name in validation.failed_metrics:
        return "failed"
    if name == GATE and not validation.gate_passed:
        return "bypassed" if validation.gate_bypassed else "failed"
    return "passed"


def _evidence(score: MetricScore, failure: str | None) -> str:
    if failure:
        evidence = failure
    elif score.error:
        evidence = score.error
    else:
        reason = score.details.get("reason")
        evidence = reason if isinstance(reason, str) else _facts(score.details)
    return _shortened(evidence, _SHOWN_EVIDENCE_CHARACTERS)


def _shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"


def _facts(details: Mapping[str, Any]) -> str:
    """Return the details that are a word or a number; lists and trees stay in `metrics.json`."""
    return ", ".join(
        f"{_words(name)} {_number(value) if isinstance(value, float) else value}"
        for name, value in details.items()
        if isinstance(value, str | int | float) and value != ""
    )


def _metrics(outcome: TaskOutcome, _links: FileLinks) -> Metadata:
    scores = outcome.metrics or {}
    if not scores:
        return {"metrics": dg.MetadataValue.text("no metric was computed")}
    metadata: Metadata = {"scores": dg.MetadataValue.md(_scores(scores))}
    for name, score in scores.items():
        if score.score is not None:
            metadata[name] = dg.MetadataValue.float(round(float(score.score), 3))
    return metadata


def _scores(scores: Mapping[str, MetricScore]) -> str:
    return markdown_table(
        ("metric", "score", "normalised", "evidence"),
        [
            (
                _words(name),
                _shown_score(score),
                _number(score.normalized_score),
                _evidence(score, None),
            )
            for name, score in scores.items()
        ],
    )


def _shown_score(score: MetricScore) -> str:
    if score.skipped or score.error is not None:
        return "skipped" if score.skipped else "error"
    return _number(score.score)


def _number(value: float | None) -> str:
    """Return a number with up to three decimals, as people write it."""
    return "" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _record_summary(outcome: TaskOutcome, _links: FileLinks) -> Metadata:
    return {"summary": dg.MetadataValue.text(summary_line(outcome)), **_acceptance(outcome)}


def _composites(composites: Mapping[str, MetricScore]) -> Metadata:
    """Return a table of the composites, and each as a number that plots from run to run."""
    if not composites:
        return {}
    metadata: Metadata = {"composites": dg.MetadataValue.md(_scores(composites))}
    for name, score in composites.items():
        if score.score is not None:
            metadata[name] = dg.MetadataValue.float(round(float(score.score), 3))
    return metadata


def summary_line(outcome: TaskOutcome) -> str:
    """Return how an accepted task was settled, in one line."""
    attempts = len(outcome.attempts)
    attempt = _accepted_attempt(outcome)
    parts = [
        "accepted by its time limit" if outcome.acceptance is Acceptance.TIME_LIMIT else "accepted",
        "on its only attempt"
        if attempts == 1
        else f"on attempt {outcome.accepted_attempt} of {attempts}",
    ]
    line = " ".join(parts) + (", reused" if outcome.reused else "")
    if attempt is not None and attempt.duration_seconds:
        line += f"; {attempt.duration_seconds:.0f} s of conversation"
    scores = [
        f"{_words(name)} {_number(score.score) or 'none'}"
        for name, score in (outcome.metrics or {}).items()
    ]
    return "; ".join([line, *scores])


def _directory(outcome: TaskOutcome) -> Path:
    if outcome.directory is None:
        raise ValueError(f"task {outcome.task.id!r} is not accepted, so it has nothing to show")
    return outcome.directory


def _accepted_attempt(outcome: TaskOutcome) -> AttemptSummary | None:
    for attempt in outcome.attempts:
        if attempt.number == outcome.accepted_attempt:
            return attempt
    return None


_BUILDERS: Mapping[TaskAsset, Callable[[TaskOutcome, FileLinks], Metadata]] = {
    TaskAsset.CONVERSATION: _conversation,
    TaskAsset.AUDIO: _audio,
    TaskAsset.VALIDATION: _validation,
    TaskAsset.METRICS: _metrics,
    TaskAsset.RECORD_SUMMARY: _record_summary,
}


def failures_table(failed: list[TaskOutcome]) -> dg.TableMetadataValue:
    """Return why each of the tasks was not accepted, as a table."""
    return dg.MetadataValue.table(
        records=[dg.TableRecord(_failure(outcome)) for outcome in failed],
        schema=dg.TableSchema(
            columns=[
                dg.TableColumn("task", "string"),
                dg.TableColumn("attempts", "int"),
                dg.TableColumn("outcome", "string"),
                dg.TableColumn("cause", "string"),
                dg.TableColumn("reason", "string"),
            ]
        ),
    )


def _failure(outcome: TaskOutcome) -> dict[str, Any]:
    last = outcome.attempts[-1] if outcome.attempts else None
    return {
        "task": outcome.task.id,
        "attempts": len(outcome.attempts),
        "outcome": last.outcome.value if last else "",
        "cause": last.cause.value if last and last.cause else "",
        "reason": outcome.error or (last.reason if last else "there is no conversation to judge"),
    }
