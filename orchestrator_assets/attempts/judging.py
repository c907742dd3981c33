"""Asking for the verdict on a conversation, again if a judge gives no answer (A4)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from orchestrator_assets.attempts.causes import cause_of
from orchestrator_assets.attempts.classification import (
    Verdict,
    classify,
    describe,
    harness_failure,
    is_time_limited,
)
from orchestrator_assets.attempts.outcomes import Outcome
from orchestrator_assets.attempts.protocols import JudgeRetries, Validate
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.errors import SpeechEngineError
from orchestrator_assets.records import Task
from orchestrator_assets.store.disk import raise_if_storage

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


async def judge(
    task: Task,
    directory: Path,
    result: ConversationResult,
    *,
    validate: Validate,
    accepts_time_limited: bool,
    retries: JudgeRetries,
    places: asyncio.Semaphore,
    sleep: Callable[[float], Awaitable[object]],
) -> Verdict:
    """Return how the attempt in `directory` ended. An exception in `validate` is a verdict too.

    Raises StorageError if the disk takes no scores.
    """
    bypass_gate = accepts_time_limited and is_time_limited(result)
    delays = iter(retries.delays())
    while True:
        async with places:
            verdict = await _ask(
                task,
                directory,
                result,
                validate,
                bypass_gate=bypass_gate,
                timeout_seconds=retries.timeout_seconds,
            )
        if verdict.outcome is not Outcome.UNJUDGED or (delay := next(delays, None)) is None:
            return verdict
        logger.warning("%s: %s; asking again in %g s", task.id, verdict.reason, delay)
        await sleep(delay)


async def _ask(
    task: Task,
    directory: Path,
    result: ConversationResult,
    validate: Validate,
    *,
    bypass_gate: bool,
    timeout_seconds: float,
) -> Verdict:
    limit = asyncio.timeout(timeout_seconds)
    try:
        async with limit:
            validation = await own_failure(validate(task, directory, bypass_gate=bypass_gate))
    except SpeechEngineError as error:
        # The judge can't listen, which says nothing of the conversation.
        logger.warning("%s can't be judged", task.id, exc_info=True)
        return _no_answer(result, f": {describe(error)}", describe(error))
    except Exception as error:
        if limit.expired():
            return _no_answer(result, f" within {timeout_seconds:g} s", describe(error))
        raise_if_storage(error)
        logger.exception("validation of %s failed", task.id)
        return harness_failure("validation failed", error)
    return classify(result, validation)


def _no_answer(result: ConversationResult, why: str, error: str) -> Verdict:
    cause = cause_of(Outcome.UNJUDGED, result)
    return Verdict(Outcome.UNJUDGED, cause, f"no answer from the judge{why}", error=error)


async def own_failure(work: Awaitable[_T]) -> _T:
    """Await `work`; if it claims to be cancelled though nobody cancelled us, it has failed.

    Taken at its word, the task would end without an outcome.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        this = asyncio.current_task()
        if this is None or this.cancelling():
            raise
        raise RuntimeError("it was cancelled from within") from error
