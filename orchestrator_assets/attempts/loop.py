"""The attempt loop: brings tasks to an accepted conversation, and yields each as it settles."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence

from orchestrator_assets.attempts.admission import Admission
from orchestrator_assets.attempts.context import AttemptContext, ProgressReport
from orchestrator_assets.attempts.file_worker import FileWorker
from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.outlook import Outlook, expected_seconds_by_turns, outlook
from orchestrator_assets.attempts.protocols import (
    AttemptLimits,
    AttemptListener,
    AttemptMode,
    ComputeMetrics,
    JudgeRetries,
    PlaceCall,
    Validate,
)
from orchestrator_assets.attempts.task_life import TaskLife
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.lock import HEARTBEAT_SECONDS, TaskLocks
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.store.runs import record_run_ended, record_run_started

__all__ = [
    "AttemptLimits",
    "AttemptListener",
    "AttemptMode",
    "ComputeMetrics",
    "JudgeRetries",
    "PlaceCall",
    "Validate",
    "run_attempts",
]

PREPARING_PER_SLOT = 1
"""Attempts that may make their caller's speech ahead of each live call."""

TASKS_OPENED_AT_ONCE = 8
"""Tasks whose journal and directory are read at the same time."""

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
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> AsyncGenerator[TaskOutcome, None]:
    """Yield how each task settles, in the order in which they do.

    A first run and a rerun are the same call: what is on disk decides. `fingerprint` tells the
    settings of a call apart; `metric_names` are the metrics a reused conversation must have, by
    default those it was given first. Stop early with `aclose()` (or `contextlib.aclosing`), or by
    cancelling: live calls are cancelled, awaited and journalled before that returns.

    Raises ConfigurationError if the run directory holds another number of trials, ValueError for
    a task given twice. What goes wrong with one task is in its outcome.
    """
    chosen = _distinct(tasks)
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
        sleep=sleep,
        report=ProgressReport(listener),
        files=FileWorker(),
        locks=TaskLocks(run_directory.locks_path, run_id),
        admission=Admission(limits.max_concurrent_conversations * (1 + PREPARING_PER_SLOT)),
        slots=asyncio.Semaphore(limits.max_concurrent_conversations),
        opening=asyncio.Semaphore(TASKS_OPENED_AT_ONCE),
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
    tasks: Sequence[Task],
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
            outlooks = await files.run(_outlooks, tasks, context, expected_seconds)
            async with asyncio.TaskGroup() as group:
                for task, expected in outlooks:
                    group.create_task(_settle_one(task, context, expected, settled))
        finally:
            heartbeat.cancel()
            await files.run(record_run_ended, run_directory, run_id)
    finally:
        files.close()
        settled.put_nowait(None)


def _outlooks(
    tasks: Sequence[Task], context: AttemptContext, expected_seconds: Callable[[Task], float]
) -> list[tuple[Task, Outlook]]:
    """Return the tasks, the longest expected first."""
    outlooks = [
        (
            task,
            outlook(
                task,
                run_directory=context.run_directory,
                mode=context.mode,
                calls=context.calls,
                expected_seconds=expected_seconds,
            ),
        )
        for task in tasks
    ]
    return sorted(outlooks, key=lambda pair: -pair[1].expected_seconds)


async def _settle_one(
    task: Task,
    context: AttemptContext,
    expected: Outlook,
    settled: asyncio.Queue[TaskOutcome | None],
) -> None:
    settled.put_nowait(await TaskLife(task, context, expected).settle())


async def _beat(context: AttemptContext) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        try:
            await context.files.run(context.locks.beat)
        except OSError:
            logger.warning("could not show that this run is alive", exc_info=True)
