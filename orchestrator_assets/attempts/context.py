"""What all tasks of one invocation share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from orchestrator_assets.attempts.admission import Admission
from orchestrator_assets.attempts.file_worker import FileWorker
from orchestrator_assets.attempts.outcomes import AttemptSummary, TaskOutcome
from orchestrator_assets.attempts.protocols import (
    AttemptLimits,
    AttemptListener,
    AttemptMode,
    BusyWaits,
    ComputeMetrics,
    JudgeRetries,
    PlaceCall,
    Validate,
)
from orchestrator_assets.errors import StorageError
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.lock import TaskLocks
from orchestrator_assets.store.run_directory import RunDirectory

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """The parts of an invocation. See `run_attempts` for what each does."""

    run_id: str
    mode: AttemptMode
    limits: AttemptLimits
    run_directory: RunDirectory
    place_call: PlaceCall
    validate: Validate
    compute_metrics: ComputeMetrics
    fingerprint: Callable[[Record], str]
    metric_names: Collection[str] | None
    judge_retries: JudgeRetries
    busy_waits: BusyWaits
    sleep: Callable[[float], Awaitable[object]]
    report: ProgressReport
    files: FileWorker
    locks: TaskLocks
    storage: StorageFault
    admission: Admission
    """Bounds the attempts that prepare or hold a call: without it every task would make its
    caller's speech at once and keep the machine from the calls that are live."""
    slots: Admission
    """Bounds the calls that are live."""
    judges: asyncio.Semaphore
    """Bounds the conversations that are being judged."""

    @property
    def calls(self) -> bool:
        """Whether this invocation may place calls and move directories."""
        return self.limits.max_attempts > 0 and self.mode in (AttemptMode.CALL, AttemptMode.FORCE)


class StorageFault:
    """The first sign that the disk takes no more; from then on nobody is admitted to call."""

    def __init__(self, *admissions: Admission) -> None:
        self.error: StorageError | None = None
        self._admissions = admissions

    def found(self, error: StorageError) -> None:
        """Let nobody call any more. Calls that are live go on to their end."""
        if self.error is None:
            logger.error("no more calls are placed: %s", error)
            self.error = error
            for admission in self._admissions:
                admission.close(str(error))


class ProgressReport:
    """Passes progress on to a listener, whose exceptions are its own business."""

    def __init__(self, listener: AttemptListener | None) -> None:
        self._listener = listener

    def attempt_started(self, task: Task, attempt: int) -> None:
        """Pass on that a call went live."""
        if self._listener is not None:
            self._tell(self._listener.attempt_started, task, attempt)

    def attempt_ended(self, task: Task, summary: AttemptSummary) -> None:
        """Pass on that an attempt was judged and accepted or archived."""
        if self._listener is not None:
            self._tell(self._listener.attempt_ended, task, summary)

    def task_settled(self, outcome: TaskOutcome) -> None:
        """Pass on how a task settled."""
        if self._listener is not None:
            self._tell(self._listener.task_settled, outcome)

    def _tell(self, tell: Callable[..., None], *facts: object) -> None:
        try:
            tell(*facts)
        except Exception:
            logger.exception("the listener failed; the attempts go on")
