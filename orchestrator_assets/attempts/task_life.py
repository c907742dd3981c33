"""One task, from what is on disk to a settled outcome (A2 to A8)."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from orchestrator_assets.attempts.admission import CallSlot, Ticket
from orchestrator_assets.attempts.causes import cause_of_exception
from orchestrator_assets.attempts.classification import Verdict, call_failure, describe
from orchestrator_assets.attempts.context import AttemptContext
from orchestrator_assets.attempts.events import AttemptEventKind
from orchestrator_assets.attempts.judging import judge, own_failure
from orchestrator_assets.attempts.outcomes import Acceptance, Outcome, TaskOutcome
from orchestrator_assets.attempts.outlook import Outlook
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.attempts.resident import read_result, write_result
from orchestrator_assets.attempts.scoring import lacking_metrics, stored_metrics
from orchestrator_assets.attempts.task_files import TaskFiles
from orchestrator_assets.call.conversation import ConversationResult, EndReason, ErrorDetails
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Task

logger = logging.getLogger(__name__)


class TaskLife:
    """Brings one task to an outcome."""

    def __init__(self, task: Task, context: AttemptContext, outlook: Outlook) -> None:
        self._task = task
        self._context = context
        self._outlook = outlook
        self._ticket = Ticket(context.admission, outlook.expected_seconds)
        self._files = TaskFiles(task, context)
        self._made: set[int] = set()
        self._first_number = 1
        self._metrics: Mapping[str, MetricScore] | None = None
        self._error: str | None = None

    async def settle(self) -> TaskOutcome:
        """Return how the task settled. Whatever fails here is this task's outcome, no other's."""
        try:
            if self._outlook.needs_call:
                # Before anything else, so that the longest calls are first in the queue.
                await self._ticket.obtain()
            try:
                async with self._context.opening:
                    await self._context.files.run(self._context.locks.acquire, self._task.key)
                    await self._files.load()
                await self._settle()
                outcome = await self._outcome()
            finally:
                self._context.locks.release(self._task.key)
        except Exception as error:
            logger.exception("task %s could not be settled", self._task.id)
            outcome = TaskOutcome(
                task=self._task,
                acceptance=None,
                attempts=self._files.known_attempts(),
                attempts_made=len(self._made),
                error=describe(error),
            )
        finally:
            self._ticket.give_back()
        self._context.report.task_settled(outcome)
        return outcome

    async def _settle(self) -> None:
        if self._context.mode is AttemptMode.METRICS_ONLY:
            await self._score(again=True)
        elif self._context.calls:
            await self._settle_by_calling()
            await self._score()
        else:
            await self._judge_what_is_there()
            await self._score(compute=self._context.mode is not AttemptMode.VALIDATE_ONLY)

    async def _settle_by_calling(self) -> None:
        if self._context.mode is AttemptMode.FORCE:
            self._first_number = self._files.history.last_number + 1
            await self._files.archive()
        elif await self._settles_without_a_call():
            return
        for index in range(self._context.limits.max_attempts):
            await self._ticket.obtain(is_retry=index > 0)
            number = await self._attempt()
            settled = await self._conclude()
            await self._report_ended(number)
            if settled:
                return

    async def _settles_without_a_call(self) -> bool:
        """Settle with what is on disk, or clear the task's directory for the next attempt (A2)."""
        files = self._files
        if files.resident is not None and files.resident_fingerprint != files.fingerprint:
            await files.archive()
        elif files.accepted is not None:
            return True
        elif files.resident is not None and files.resident.ended:
            past = files.past
            if past is None or past.needs_judging:
                await self._judge_resident()
        return await self._conclude()

    async def _conclude(self) -> bool:
        """Accept the attempt in the task's directory, or an earlier one, or archive it (A5).

        Returns whether the task has settled.
        """
        files = self._files
        resident, past = files.resident, files.past
        if resident is not None and resident.ended and past is not None:
            if past.outcome is Outcome.PASSED:
                await files.accept(resident.number, Acceptance.VALIDATED)
                return True
            if past.outcome is Outcome.UNJUDGED:
                return True
        candidate = await files.time_limit_candidate(first_number=self._first_number)
        if candidate is not None and resident is not None and candidate == resident.number:
            await files.accept(candidate, Acceptance.TIME_LIMIT)
            return True
        await files.archive()
        if candidate is None:
            return False
        await files.restore(candidate)
        return True

    async def _attempt(self) -> int:
        """Make one attempt, up to its verdict, and return its number (A3)."""
        files = self._files
        number = await files.begin()
        slot = CallSlot(self._context.slots, self._ticket, lambda: self._go_live(number))
        try:
            result, failure = await self._call(number, slot)
        except asyncio.CancelledError:
            if slot.went_live:
                await files.record(AttemptEventKind.CANCELLED, number)
            else:
                await files.abandon()
            raise
        finally:
            self._ticket.give_back()
        if not slot.went_live:
            await self._go_live(number)
        self._made.add(number)
        await files.record_ended(number, result)
        if failure is None:
            await self._judge_resident()
        else:
            await files.record_verdict(number, call_failure(failure))
        return number

    async def _go_live(self, number: int) -> None:
        await self._files.record(
            AttemptEventKind.STARTED, number, fingerprint=self._files.fingerprint
        )
        self._context.report.attempt_started(self._task, number)

    async def _call(
        self, number: int, slot: CallSlot
    ) -> tuple[ConversationResult, Exception | None]:
        """Place the call. An exception in it comes back beside a result that tells of it."""
        directory = self._files.directory
        began = datetime.now(UTC)
        try:
            result = await own_failure(
                self._context.place_call(self._task, number, directory, slot)
            )
            failure = None
        except Exception as error:
            logger.exception("attempt %d of %s failed", number, self._task.id)
            failure = error
            result = self._failed_result(number, error, began, slot.live_seconds)
        written = await self._context.files.run(read_result, directory)
        if written is None:
            await self._context.files.run(write_result, directory, result)
            return result, failure
        return (result if failure is None else written), failure

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

    async def _judge_resident(self) -> None:
        verdict, number = await self._verdict()
        await self._files.record_verdict(number, verdict)

    async def _verdict(self) -> tuple[Verdict, int]:
        """Judge the ended conversation in the task's directory."""
        files, context = self._files, self._context
        resident = files.resident
        if resident is None or resident.result is None:
            raise ValueError(f"{files.directory} holds no conversation that could be judged")
        if files.past is None or files.past.ended_at is None:
            # The run that made the call was killed before it could say so.
            await files.record_ended(resident.number, resident.result)
        verdict = await judge(
            self._task,
            files.directory,
            resident.result,
            validate=context.validate,
            accepts_time_limited=context.limits.max_time_limit_attempts > 0,
            retries=context.judge_retries,
            sleep=context.sleep,
        )
        return verdict, resident.number

    async def _judge_what_is_there(self) -> None:
        """Judge the conversation in the task's directory without moving anything."""
        files = self._files
        standing = files.accepted
        if files.resident is None or not files.resident.ended:
            return
        if standing is not None and self._context.mode is not AttemptMode.VALIDATE_ONLY:
            return
        verdict, number = await self._verdict()
        unjudged = verdict.outcome is Outcome.UNJUDGED
        if (verdict.error and not unjudged) or (standing is not None and unjudged):
            # What was accepted, or might be yet, stays so until there is a verdict against it.
            self._error = verdict.reason
            return
        await files.record_verdict(number, verdict)
        if verdict.outcome is Outcome.PASSED:
            await files.accept(number, Acceptance.VALIDATED)
        elif await files.time_limit_candidate(first_number=1) == number:
            await files.accept(number, Acceptance.TIME_LIMIT)

    async def _score(self, *, compute: bool = True, again: bool = False) -> None:
        """See that the accepted conversation has its metrics; one that fails costs nothing (A8)."""
        files, context = self._files, self._context
        accepted = files.accepted
        if accepted is None:
            return
        self._metrics = await context.files.run(stored_metrics, files.directory)
        wanted = context.metric_names
        if wanted is None and files.past is not None:
            wanted = files.past.metric_names
        if not compute or not (again or lacking_metrics(wanted, self._metrics)):
            return
        try:
            self._metrics = await own_failure(context.compute_metrics(self._task, files.directory))
        except Exception as error:
            logger.exception("metrics of %s failed", self._task.id)
            self._error = f"metrics failed: {describe(error)}"
            await files.record(
                AttemptEventKind.METRICS_COMPUTED, accepted.number, error=describe(error)
            )
        else:
            scores = {name: score.normalized_score for name, score in self._metrics.items()}
            await files.record(AttemptEventKind.METRICS_COMPUTED, accepted.number, scores=scores)

    async def _report_ended(self, number: int) -> None:
        for summary in await self._files.summaries():
            if summary.number == number:
                self._context.report.attempt_ended(self._task, summary)

    async def _outcome(self) -> TaskOutcome:
        accepted = self._files.accepted
        return TaskOutcome(
            task=self._task,
            acceptance=None if accepted is None else accepted.acceptance,
            attempts=await self._files.summaries(),
            attempts_made=len(self._made),
            reused=accepted is not None and accepted.number not in self._made,
            accepted_attempt=None if accepted is None else accepted.number,
            directory=None if accepted is None else self._files.directory,
            metrics=self._metrics,
            error=self._error,
        )
