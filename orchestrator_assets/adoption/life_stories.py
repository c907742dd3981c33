"""Tells the journals of ours what happened to the tasks while they were EVA's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from orchestrator_assets.attempts.classification import Verdict
from orchestrator_assets.attempts.events import AttemptEvent, AttemptEventKind, append_event
from orchestrator_assets.call.conversation import (
    ADOPTED_FINGERPRINT,
    ConversationResult,
    EndReason,
)
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory


class LifeStory:
    """The journal of one task, written in the order in which EVA made its attempts."""

    def __init__(self, run_directory: RunDirectory, task: Task, run_id: str) -> None:
        self._run_directory = run_directory
        self._task = task
        self._journal = run_directory.journal(task)
        self._run_id = run_id

    def tell_call(self, number: int, result: ConversationResult | None) -> None:
        """Tell of a call, which without a result, or cancelled, never came to its end."""
        began = datetime.now(UTC) if result is None else result.started_at
        self._append(
            AttemptEventKind.STARTED,
            number,
            began,
            adopted=True,
            fingerprint=ADOPTED_FINGERPRINT,
        )
        if result is None:
            return
        if result.conversation_ended_reason is EndReason.CANCELLED:
            self._append(AttemptEventKind.CANCELLED, number, result.ended_at)
            return
        self._append(
            AttemptEventKind.ENDED,
            number,
            result.ended_at,
            fingerprint=ADOPTED_FINGERPRINT,
            ended_reason=result.conversation_ended_reason,
            duration_seconds=result.duration_seconds,
            error=result.error,
        )

    def tell_archived(
        self, number: int, result: ConversationResult | None, verdict: Verdict
    ) -> None:
        """Tell of a call that EVA judged and archived."""
        self.tell_call(number, result)
        ended = datetime.now(UTC) if result is None else result.ended_at
        if result is None or result.conversation_ended_reason is not EndReason.CANCELLED:
            self._append(
                AttemptEventKind.JUDGED,
                number,
                ended,
                outcome=verdict.outcome,
                cause=verdict.cause,
                reason=verdict.reason,
                validation=verdict.validation,
            )
        archive = self._run_directory.archive_directory(self._task, number)
        self._append(
            AttemptEventKind.ARCHIVED,
            number,
            ended,
            archive=archive.relative_to(self._run_directory.root).as_posix(),
        )

    def _append(self, kind: AttemptEventKind, number: int, time: datetime, **facts: Any) -> None:
        event = AttemptEvent(event=kind, attempt=number, time=time, run_id=self._run_id, **facts)
        append_event(self._journal, event)


def tell_run(
    run_directory: RunDirectory, run_id: str, began: datetime, ended: datetime, tasks: int
) -> None:
    """Tell the journal of invocations of EVA's run."""
    shared = {"run_id": run_id, "adopted": True}
    run_directory.runs.append(
        {"event": "started", "time": began.isoformat(), "mode": "adopted", "tasks": tasks, **shared}
    )
    run_directory.runs.append({"event": "ended", "time": ended.isoformat(), **shared})
