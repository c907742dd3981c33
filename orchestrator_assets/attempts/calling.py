"""Placing the calls of a task until one counts as an attempt (A3)."""

from __future__ import annotations

import asyncio
import logging
import traceback
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from orchestrator_assets.attempts.admission import CallSlot, Ticket
from orchestrator_assets.attempts.causes import cause_of_exception
from orchestrator_assets.attempts.classification import describe
from orchestrator_assets.attempts.context import AttemptContext
from orchestrator_assets.attempts.events import AttemptEventKind
from orchestrator_assets.attempts.judging import own_failure
from orchestrator_assets.attempts.resident import read_result, write_result
from orchestrator_assets.attempts.task_files import TaskFiles
from orchestrator_assets.call.conversation import ConversationResult, EndReason, ErrorDetails
from orchestrator_assets.errors import InterruptedCallError, ProviderBusyError, StorageError
from orchestrator_assets.records import Task
from orchestrator_assets.store.disk import raise_if_storage

INTERRUPTIONS_IN_A_ROW = 3
"""With so many, a call that is interrupted through no fault of its own has failed all the same."""

logger = logging.getLogger(__name__)


class Calling:
    """Places the calls of one task, whose files have been loaded and whose directory is clear."""

    def __init__(
        self, task: Task, context: AttemptContext, files: TaskFiles, ticket: Ticket
    ) -> None:
        self._task = task
        self._context = context
        self._files = files
        self._ticket = ticket

    async def call(self, *, is_retry: bool) -> tuple[int, Exception | None]:
        """Return the number of the attempt whose call is over, and what the call raised, if it did.

        A call that is interrupted through no fault of its own is archived and placed again at
        once, under the next number.
        """
        interruptions = 0
        while True:
            await self._ticket.obtain(is_retry=is_retry or interruptions > 0)
            number, failure = await self._place()
            if not isinstance(failure, InterruptedCallError):
                return number, failure
            interruptions += 1
            if interruptions == INTERRUPTIONS_IN_A_ROW:
                await self._record_failed(number, failure, datetime.now(UTC), 0.0)
                return number, failure
            logger.warning("attempt %d of %s: %s", number, self._task.id, failure)
            await self._files.set_aside(number)
            self._context.report.attempt_ended(self._task, await self._files.summary(number))

    async def _place(self) -> tuple[int, Exception | None]:
        """Place one call, and record how it ended unless it was interrupted."""
        number = await self._files.begin()
        slot = CallSlot(self._context.slots, self._ticket, partial(self._go_live, number))
        began = datetime.now(UTC)
        try:
            result, failure = await self._until_not_busy(number, slot)
        except asyncio.CancelledError:
            await self._break_off(number, slot)
            raise
        except StorageError as error:
            # Before the admission is given back, or the next one would call in vain.
            self._context.storage.found(error)
            with suppress(StorageError):
                # Without an entry the attempt counts as interrupted all the same.
                await self._break_off(number, slot)
            raise
        finally:
            self._ticket.give_back()
        if not slot.went_live:
            await self._go_live(number)
        if isinstance(failure, InterruptedCallError):
            return number, failure
        if failure is not None or result is None:
            failure = failure or RuntimeError("the call returned nothing")
            await self._record_failed(number, failure, began, slot.live_seconds)
            return number, failure
        written = await self._context.files.run(read_result, self._files.directory)
        if written is None:
            await self._context.files.run(write_result, self._files.directory, result)
        await self._files.record_ended(number, result)
        return number, None

    async def _until_not_busy(
        self, number: int, slot: CallSlot
    ) -> tuple[ConversationResult | None, Exception | None]:
        """Call, again and again while a provider asks for it; the attempt stays the same one."""
        waits = self._context.busy_waits
        backoff = waits.backoff()
        while True:
            try:
                call = self._context.place_call(self._task, number, self._files.directory, slot)
                return await own_failure(call), None
            except ProviderBusyError as busy:
                if (wait := next(backoff, None)) is None:
                    return None, busy
                seconds = waits.stretched(wait, busy.retry_after_seconds)
                logger.info("%s: %s; trying again in %.1f s", self._task.id, busy, seconds)
            except InterruptedCallError as interrupted:
                return None, interrupted
            except Exception as error:
                raise_if_storage(error)
                logger.exception("attempt %d of %s failed", number, self._task.id)
                return None, error
            # Admitted while it waits: were others admitted instead, all would call in vain.
            await self._ticket.obtain(is_retry=True)
            await self._context.sleep(seconds)

    async def _go_live(self, number: int) -> None:
        await self._files.record(
            AttemptEventKind.STARTED, number, fingerprint=self._files.fingerprint
        )
        self._context.report.attempt_started(self._task, number)

    async def _break_off(self, number: int, slot: CallSlot) -> None:
        if slot.went_live:
            await self._files.record(AttemptEventKind.CANCELLED, number)
        else:
            await self._files.abandon()

    async def _record_failed(
        self, number: int, error: Exception, began: datetime, seconds: float
    ) -> None:
        """Record a call that raised; what it wrote of itself before beats what is known here."""
        directory = self._files.directory
        result = await self._context.files.run(read_result, directory)
        if result is None or result.conversation_ended_reason is EndReason.CANCELLED:
            result = self._failed_result(number, error, began, seconds)
            await self._context.files.run(write_result, directory, result)
        await self._files.record_ended(number, result)

    def _failed_result(
        self, number: int, error: Exception, began: datetime, seconds: float
    ) -> ConversationResult:
        return ConversationResult(
            record_id=self._task.record.id,
            completed=False,
            error=describe(error),
            error_details=ErrorDetails(
                error_type=type(error).__name__,
                error_source="call",
                original_error=str(error),
                stack_trace="".join(traceback.format_exception(error)),
            ),
            started_at=began,
            ended_at=max(datetime.now(UTC), began + timedelta(seconds=seconds)),
            duration_seconds=seconds,
            conversation_ended_reason=EndReason.ERROR,
            task_id=self._task.id,
            attempt=number,
            fingerprint=self._files.fingerprint,
            clock="wall",
            cause=cause_of_exception(error),
        )
