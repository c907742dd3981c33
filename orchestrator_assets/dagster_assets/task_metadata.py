"""Metadata of the partitioned assets: what a person wants to see of a settled task.

Bodies stay on disk; Dagster's event log gets what fits on a screen. A file that is missing or
can't be read is said to be so in the metadata: showing a conversation never fails a run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from orchestrator_assets.attempts.outcomes import AttemptSummary, TaskOutcome
from orchestrator_assets.call.conversation import RESULT_FILE, ConversationResult
from orchestrator_assets.dagster_assets.audio_metadata import audio_metadata
from orchestrator_assets.dagster_assets.keys import TaskAsset
from orchestrator_assets.dagster_assets.markdown import escape, markdown_table
from orchestrator_assets.dagster_assets.transcript import read_transcript, transcript_table
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.validation.result import GATE, ValidationResult

Metadata = dict[str, dg.MetadataValue]

_SHOWN_EVIDENCE_CHARACTERS = 300


def task_metadata(asset: TaskAsset, outcome: TaskOutcome) -> Metadata:
    """Return the metadata of one asset of an accepted task."""
    return {**_identity(outcome), **_BUILDERS[asset](outcome)}


def _identity(outcome: TaskOutcome) -> Metadata:
    identity: Metadata = {
        "record_id": dg.MetadataValue.text(outcome.task.record.id),
        "reused": dg.MetadataValue.bool(outcome.reused),
    }
    if outcome.task.trial is not None:
        identity["trial"] = dg.MetadataValue.int(outcome.task.trial)
    if outcome.directory is not None:
        identity["directory"] = dg.MetadataValue.path(str(outcome.directory))
    return identity


def _conversation(outcome: TaskOutcome) -> Metadata:
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
            "clock": dg.MetadataValue.text(result.clock),
            "duration_seconds": dg.MetadataValue.float(result.duration_seconds),
            "turns": dg.MetadataValue.int(result.num_turns),
            "tool_calls": dg.MetadataValue.int(result.num_tool_calls),
        }
    return metadata | _acceptance(outcome) | {"attempts": attempts_table(outcome)}


def _acceptance(outcome: TaskOutcome) -> Metadata:
    # Dagster stores exact strings only, no members of a StrEnum.
    acceptance = outcome.acceptance.value if outcome.acceptance else "not accepted"
    return {
        "acceptance": dg.MetadataValue.text(acceptance),
        "attempts_so_far": dg.MetadataValue.int(len(outcome.attempts)),
    }


def _transcript(directory: Path) -> str:
    try:
        return transcript_table(read_transcript(directory))
    except (OSError, ValueError) as error:
        return escape(f"The transcript can't be read: {error}")


def attempts_table(outcome: TaskOutcome) -> dg.TableMetadataValue:
    """Return every attempt of the task's life as a table."""
    return dg.MetadataValue.table(
        records=[
            dg.TableRecord(
                {
                    "attempt": attempt.number,
                    "outcome": attempt.outcome.value,
                    "cause": attempt.cause.value if attempt.cause else "",
                    "ended": attempt.ended_reason.value if attempt.ended_reason else "",
                    "seconds": round(attempt.duration_seconds, 1),
                    "reason": attempt.reason,
                }
            )
            for attempt in outcome.attempts
        ],
        schema=dg.TableSchema(
            columns=[
                dg.TableColumn("attempt", "int"),
                dg.TableColumn("outcome", "string"),
                dg.TableColumn("cause", "string"),
                dg.TableColumn("ended", "string"),
                dg.TableColumn("seconds", "float"),
                dg.TableColumn("reason", "string"),
            ]
        ),
    )


def _audio(outcome: TaskOutcome) -> Metadata:
    return audio_metadata(_directory(outcome))


def _validation(outcome: TaskOutcome) -> Metadata:
    attempt = _accepted_attempt(outcome)
    validation = None if attempt is None else attempt.validation
    if validation is None:
        return {"validation": dg.MetadataValue.text("no verdict is on record")}
    metadata: Metadata = {
        "passed": dg.MetadataValue.bool(validation.passed),
        "gate_bypassed": dg.MetadataValue.bool(validation.gate_bypassed),
        "verdicts": dg.MetadataValue.md(_verdicts(validation)),
    }
    for name, score in validation.scores.items():
        if score.normalized_score is not None:
            metadata[name] = dg.MetadataValue.float(float(score.normalized_score))
    return metadata


def _verdicts(validation: ValidationResult) -> str:
    return markdown_table(
        ("metric", "score", "threshold", "verdict", "evidence"),
        [
            (
                name,
                "" if score.normalized_score is None else f"{score.normalized_score:.3f}",
                f"{validation.thresholds[name]:.3f}" if name in validation.thresholds else "",
                _verdict(name, validation),
                _evidence(score, validation.failure_details.get(name)),
            )
            for name, score in validation.scores.items()
        ],
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
        evidence = reason if isinstance(reason, str) else _json(score.details)
    if len(evidence) <= _SHOWN_EVIDENCE_CHARACTERS:
        return evidence
    return evidence[: _SHOWN_EVIDENCE_CHARACTERS - 1] + "…"


def _json(details: Mapping[str, Any]) -> str:
    return json.dumps(details, ensure_ascii=False) if details else ""


def _metrics(outcome: TaskOutcome) -> Metadata:
    scores = outcome.metrics or {}
    if not scores:
        return {"metrics": dg.MetadataValue.text("no metric was computed")}
    metadata: Metadata = {"scores": dg.MetadataValue.md(_scores(scores))}
    for name, score in scores.items():
        if score.score is not None:
            metadata[name] = dg.MetadataValue.float(float(score.score))
    return metadata


def _scores(scores: Mapping[str, MetricScore]) -> str:
    return markdown_table(
        ("metric", "score", "normalised", "evidence"),
        [
            (
                name,
                "skipped" if score.skipped else _number(score.score),
                _number(score.normalized_score),
                _evidence(score, None),
            )
            for name, score in scores.items()
        ],
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _record_summary(outcome: TaskOutcome) -> Metadata:
    attempts = len(outcome.attempts)
    made = "reused" if outcome.reused else f"{attempts} attempt{'' if attempts == 1 else 's'}"
    scores = ", ".join(
        f"{name} {_number(score.score) or 'none'}"
        for name, score in (outcome.metrics or {}).items()
    )
    line = f"accepted ({outcome.acceptance}), {made}" + (f"; {scores}" if scores else "")
    return {"summary": dg.MetadataValue.text(line), **_acceptance(outcome)}


def _directory(outcome: TaskOutcome) -> Path:
    if outcome.directory is None:
        raise ValueError(f"task {outcome.task.id!r} is not accepted, so it has nothing to show")
    return outcome.directory


def _accepted_attempt(outcome: TaskOutcome) -> AttemptSummary | None:
    for attempt in outcome.attempts:
        if attempt.number == outcome.accepted_attempt:
            return attempt
    return None


_BUILDERS: Mapping[TaskAsset, Callable[[TaskOutcome], Metadata]] = {
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
