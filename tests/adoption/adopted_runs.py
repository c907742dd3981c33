"""Runs evaluations with our own validation and metrics, and calls that never end well."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.attempts.resident import write_result
from orchestrator_assets.call.conversation import ConversationResult, EndReason
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.records import Task
from orchestrator_assets.validation.validator import Validator


class DeafEngine:
    """There is nothing to hear in these tests."""

    sample_rate_hz = 16_000

    def transcribe(self, samples: Samples) -> str:
        raise AssertionError("nothing of an adopted run is listened to")


@dataclass
class AdoptedRuns:
    """Settles the tasks of evaluations. `placed` are the calls it took."""

    placed: list[tuple[str, int]] = field(default_factory=list)
    evaluation: Evaluation | None = None

    async def settle(
        self, evaluation: Evaluation, *, mode: AttemptMode = AttemptMode.CALL
    ) -> dict[str, TaskOutcome]:
        self.evaluation = evaluation
        validator = Validator(evaluation.validation, DeafEngine())
        run = EvaluationRun(
            evaluation,
            evaluation.load_tasks(),
            mode=mode,
            run_id="ours",
            place_call=self._place_call,
            validate=validator.validate,
        )
        return {outcome.task.id: outcome async for outcome in run.outcomes()}

    async def _place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        async with slot:
            self.placed.append((task.id, attempt))
        assert self.evaluation is not None
        now = datetime.now(UTC)
        result = ConversationResult(
            record_id=task.record.id,
            completed=False,
            started_at=now,
            ended_at=now,
            duration_seconds=1.0,
            conversation_ended_reason=EndReason.AGENT_HANGUP,
            task_id=task.id,
            attempt=attempt,
            fingerprint=self.evaluation.call_fingerprint(task.record),
            clock="wall",
        )
        write_result(directory, result)
        return result
