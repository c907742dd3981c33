"""The attempt loop: brings tasks to an accepted conversation, and yields each as it settles."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable

from orchestrator_assets.attempts.admission import Admission
from orchestrator_assets.attempts.context import AttemptContext, ProgressReport, StorageFault
from orchestrator_assets.attempts.file_worker import FileWorker
from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.outlook import expected_seconds_by_turns, outlooks
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
from orchestrator_assets.attempts.schedule import Schedule
from orchestrator_assets.errors import StorageError
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.lock import HEARTBEAT_SECONDS, TaskLocks
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.store.runs import record_run_ended, record_run_started

__all__ = [
    "AttemptLimits",
    "AttemptListener",
    "AttemptMode",
    "BusyWaits",
    "ComputeMetrics",
    "JudgeRetries",
    "PlaceCall",
    "Validate",
    "run_attempts",
]

PREPARING_PER_SLOT = 1
"""Attempts that may make their caller's speech ahead of each live call."""

logger = logging.getLogger(__name__)


async def run_attempts(
    tasks: Iterable[Task],
    *,
    run_directory: RunDirectory,
    place_call: PlaceCall,
    validate: Validate,
    compute_metrics: ComputeMetrics,
    fingerprint: Callable[[Record], str],
    limits: AttemptLimits,
    run_id: str,
    mode: AttemptMode = AttemptMode.CALL,
    listener: AttemptListener | None = None,
    metric_names: Collection[str] | None = None,
    expected_seconds: Callable[[Task], float] = expected_seconds_by_turns,
    judge_retries: JudgeRetries = JudgeRetries(),  # noqa: B008 - it is immutable
    busy_waits: BusyWaits = BusyWaits(),  # noqa: B008 - it is immutable
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> AsyncGenerator[TaskOutcome, None]:
    """Yield how each task settles, in the order in which they do.

    A first run and a rerun are the same call: what is on disk decides. `fingerprint` tells the
    settings of a call apart; `metric_names` are the metrics a reused conversation must have, by
    default those it was given first. Stop early with `aclose()` (or `contextlib.aclosing`), or by
    cancelling: live calls are cancelled, awaited and journalled before that returns.

    Raises ConfigurationError if the run directory holds another number of trials, ValueError for
    a task given twice, and StorageError where the disk takes no more: nobody is called any more,
    live calls go on to their end and are kept as far as possible, and tasks that did not settle
    are not yielded. What goes wrong with one task is in its outcome.
    """
    chosen = _distinct(tasks)
    slots = Admission(limits.max_concurrent_conversations)
    admission = Admission(limits.max_concurrent_conversations * (1 + PREPARING_PER_SLOT))
    context = AttemptContext(
        run_id=run_id,
        mode=mode,
        limits=limits,
        run_directory=run_directory,
        place_call=place_call,
        validate=validate,
        compute_metrics=compute_metrics,
        fingerprint=fingerprint,
        metric_names=metric_names,
        judge_retries=judge_retries,
        busy_waits=busy_waits,
        sleep=sleep,
        report=ProgressReport(listener),
        files=FileWorker(),
        locks=TaskLocks(run_directory.locks_path, run_id),
        storage=StorageFault(admission, slots),
        admission=admission,
        slots=slots,
        judges=asyncio.Semaphore(judge_retries.at_once),
    )
    settled: asyncio.Queue[TaskOutcome | None] = asyncio.Queue()
    # In a task of its own: a task group must not be suspended at a `yield` inside it, where its
    # cancellations would hit whatever the consumer is doing.
    work = asyncio.create_task(_settle_all(chosen, context, expected_seconds, settled))
    try:
        while (outcome := await settled.get()) is not None:
            yield outcome
        await work
    finally:
        await _stop(work)


async def _stop(work: asyncio.Task[None]) -> None:
    """Cancel the work if it is still going, and wait for its end. What it raised is logged."""
    work.cancel()
    await asyncio.wait({work})
    if not work.cancelled() and (error := work.exception()) is not None:
        logger.debug("the attempts ended by an error", exc_info=error)


def _distinct(tasks: Iterable[Task]) -> list[Task]:
    chosen = list(tasks)
    twice = [key for key, count in Counter(task.key for task in chosen).items() if count > 1]
    if twice:
        raise ValueError(f"tasks given more than once: {', '.join(twice)}")
    return chosen


async def _settle_all(
    tasks: list[Task],
    context: AttemptContext,
    expected_seconds: Callable[[Task], float],
    settled: asyncio.Queue[TaskOutcome | None],
) -> None:
    files, run_directory, run_id = context.files, context.run_directory, context.run_id
    try:
        await files.run(run_directory.check_layout, tasks)
        await files.run(
            record_run_started, run_directory, run_id, mode=context.mode.value, tasks=len(tasks)
        )
        heartbeat = asyncio.create_task(_beat(context))
        try:
            expected = await files.run(
                outlooks,
                tasks,
                run_directory=run_directory,
                mode=context.mode,
                calls=context.calls,
                expected_seconds=expected_seconds,
            )
            tasks.clear()
            schedule = Schedule(
                context, context.limits.max_concurrent_conversations, settled.put_nowait
            )
            await schedule.settle(expected)
        finally:
            heartbeat.cancel()
            await _record_run_ended(context)
        if context.storage.error is not None:
            raise context.storage.error
    finally:
        files.close()
        settled.put_nowait(None)


async def _record_run_ended(context: AttemptContext) -> None:
    try:
        await context.files.run(record_run_ended, context.run_directory, context.run_id)
    except (OSError, StorageError):
        # The run then counts as killed, which must not hide how it really ended.
        logger.warning("could not record that this run has ended", exc_info=True)


async def _beat(context: AttemptContext) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        try:
            await context.files.run(context.locks.beat)
        except (OSError, StorageError):
            logger.warning("could not show that this run is alive", exc_info=True)
