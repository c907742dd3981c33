"""Callers, judges and metrics that take no time, for tests of what is built around them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from orchestrator_assets.attempts.protocols import AttemptListener, AttemptMode
from orchestrator_assets.call.conversation import (
    RESULT_FILE,
    TRANSCRIPT_FILE,
    ConversationResult,
    EndReason,
    TranscriptRow,
)
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.metrics.selection import MetricSelection
from orchestrator_assets.metrics.task_completion import TaskCompletion
from orchestrator_assets.records import Task
from orchestrator_assets.validation import speech_fidelity
from orchestrator_assets.validation.result import GATE, USER_SPEECH_FIDELITY, ValidationResult


class Attempt(StrEnum):
    """What a planned attempt does."""

    GOOD = "good"
    CUT_OFF = "cut_off"
    MISSPOKEN = "misspoken"
    ENDLESS = "endless"


@dataclass
class FakeCalls:
    """Plays planned attempts; what is not planned is good. The last plan of a task repeats."""

    plans: dict[str, Sequence[Attempt]] = field(default_factory=dict)
    placed: list[tuple[str, int]] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    scored: list[str] = field(default_factory=list)
    hung_up: list[str] = field(default_factory=list)
    live: asyncio.Event | None = None
    evaluation: Evaluation | None = None
    real_metrics: bool = False
    """The evaluation's own metrics are computed, on what these calls leave."""

    def attempt(self, task: Task, number: int) -> Attempt:
        plan = self.plans.get(task.id, [Attempt.GOOD])
        return plan[min(number, len(plan)) - 1]

    async def place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        plan = self.attempt(task, attempt)
        reason = EndReason.GOODBYE
        async with slot:
            self.placed.append((task.id, attempt))
            if plan is Attempt.ENDLESS:
                await self._stay_live(task)
            if plan is Attempt.CUT_OFF:
                reason = EndReason.TRANSPORT_ERROR
        assert self.evaluation is not None
        fingerprint = self.evaluation.call_fingerprint(task.record)
        return write_call(task, attempt, directory, reason, fingerprint)

    async def _stay_live(self, task: Task) -> None:
        if self.live is not None:
            self.live.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.hung_up.append(task.id)

    async def validate(self, task: Task, directory: Path, *, bypass_gate: bool) -> ValidationResult:
        self.judged.append(task.id)
        result = ConversationResult.model_validate_json((directory / RESULT_FILE).read_text())
        ended_well = result.conversation_ended_reason is EndReason.GOODBYE
        spoke_well = self.attempt(task, result.attempt) is not Attempt.MISSPOKEN
        scores = {GATE: _score(GATE, ended_well)}
        if ended_well:
            scores[USER_SPEECH_FIDELITY] = _score(
                USER_SPEECH_FIDELITY, spoke_well, speech_fidelity.VERSION
            )
        merge_scores(directory, task.record.id, scores)
        failed = ended_well and not spoke_well
        return ValidationResult(
            gate_passed=ended_well,
            scores=scores,
            thresholds={GATE: 1.0, USER_SPEECH_FIDELITY: 1.0},
            failed_metrics=(USER_SPEECH_FIDELITY,) if failed else (),
            failure_details={USER_SPEECH_FIDELITY: "turn 0 was misspoken"} if failed else {},
        )

    async def compute_metrics(self, task: Task, directory: Path) -> Mapping[str, MetricScore]:
        self.scored.append(task.id)
        scores = {"task_completion": _score("task_completion", True, TaskCompletion.code_version)}
        merge_scores(directory, task.record.id, scores)
        return scores

    def create_run(
        self,
        evaluation: Evaluation,
        tasks: Iterable[Task],
        *,
        mode: AttemptMode,
        run_id: str,
        metric_selection: MetricSelection | None = None,
        listener: AttemptListener | None = None,
        preflight: bool = True,
    ) -> EvaluationRun:
        self.evaluation = evaluation
        return EvaluationRun(
            evaluation,
            tasks,
            mode=mode,
            run_id=run_id,
            metric_selection=metric_selection,
            listener=listener,
            preflight=preflight,
            place_call=self.place_call,
            validate=self.validate,
            compute_metrics=None if self.real_metrics else self.compute_metrics,
        )


def _score(name: str, good: bool, version: str | None = None) -> MetricScore:
    return MetricScore(name=name, score=float(good), normalized_score=float(good), version=version)


def write_call(
    task: Task, attempt: int, directory: Path, reason: EndReason, fingerprint: str
) -> ConversationResult:
    """Leave the files of a call of two turns behind."""
    now = datetime.now(UTC)
    rows = [
        TranscriptRow(
            timestamp=now, role="assistant", content="Hello?", start_seconds=0.5, end_seconds=1.0
        ),
        TranscriptRow(
            timestamp=now, role="user", content="A | b <i>", start_seconds=61.26, end_seconds=62
        ),
    ]
    text = "".join(row.model_dump_json() + "\n" for row in rows)
    (directory / TRANSCRIPT_FILE).write_text(text, encoding="utf-8")
    result = ConversationResult(
        record_id=task.record.id,
        completed=reason is EndReason.GOODBYE,
        started_at=now,
        ended_at=now,
        duration_seconds=62.0,
        num_turns=2,
        conversation_ended_reason=reason,
        task_id=task.id,
        attempt=attempt,
        fingerprint=fingerprint,
        clock="media",
    )
    (directory / RESULT_FILE).write_text(result.model_dump_json(), encoding="utf-8")
    return result


def write_evaluation(folder: Path, record_ids: Sequence[str], **fields: Any) -> Path:
    """Write an evaluation and its data set, and return the evaluation's file."""
    folder.mkdir(parents=True, exist_ok=True)
    name = fields.pop("name", "trial_run")
    data_set = folder / f"{name}_records.json"
    rows = [{"id": record_id, "turns": ["Hello?"]} for record_id in record_ids]
    data_set.write_text(json.dumps(rows), encoding="utf-8")
    evaluation = {
        "name": name,
        "data_set": data_set.name,
        "agent": {"url": "ws://127.0.0.1:9/media"},
        "max_attempts": 2,
        "output_dir": str(folder / "runs"),
        "metrics": ["task_completion"],
        **fields,
    }
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(evaluation), encoding="utf-8")  # JSON is YAML.
    return path
