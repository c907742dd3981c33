"""One task, from what is on disk to a settled outcome (A2 to A8)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from orchestrator_assets.attempts.admission import Ticket
from orchestrator_assets.attempts.calling import Calling
from orchestrator_assets.attempts.classification import Verdict, call_failure, describe
from orchestrator_assets.attempts.context import AttemptContext
from orchestrator_assets.attempts.events import AttemptEventKind
from orchestrator_assets.attempts.judging import judge, own_failure
from orchestrator_assets.attempts.outcomes import Acceptance, Outcome, TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.attempts.scoring import lacking_metrics, stored_metrics
from orchestrator_assets.attempts.task_files import TaskFiles
from orchestrator_assets.attempts.tries import EndOfTries, end_of_tries, open_tries
from orchestrator_assets.errors import StorageError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Task
from orchestrator_assets.store.disk import raise_if_storage

logger = logging.getLogger(__name__)


class TaskLife:
    """Brings one task to an outcome.

    `ticket` is given back in the end, if it is held. `before_calling` is run when the task turns
    out to need a call, before it waits for admission.
    """

    def __init__(
        self,
        task: Task,
        context: AttemptContext,
        ticket: Ticket,
        before_calling: Callable[[], None] = lambda: None,
    ) -> None:
        self._task = task
        self._context = context
        self._ticket = ticket
        self._before_calling = before_calling
        self._files = TaskFiles(task, context)
        self._calling = Calling(task, context, self._files, ticket)
        self._made: set[int] = set()
        self._first_number = 1
        self._metrics: Mapping[str, MetricScore] | None = None
        self._error: str | None = None
        self._stopped_early: str | None = None

    async def settle(self) -> TaskOutcome | None:
        """Return how the task settled. Whatever fails here is this task's outcome, no other's.

        None if it did not settle, as the disk takes no more.
        """
        try:
            outcome = await self._settle_locked()
        except StorageError as error:
            self._context.storage.found(error)
            return None
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

    async def _settle_locked(self) -> TaskOutcome:
        files, locks = self._context.files, self._context.locks
        try:
            await files.run(locks.acquire, self._task.key)
            await self._files.load()
            await self._settle()
            return await self._outcome()
        finally:
            await files.run(locks.release, self._task.key)

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
        self._before_calling()
        while (end := self._end_of_tries()) is None:
            number = await self._attempt()
            settled = await self._conclude()
            self._context.report.attempt_ended(self._task, await self._files.summary(number))
            if settled:
                return
        await self._files.give_up(end)
        self._stopped_early = end.reason if end.early else None

    def _end_of_tries(self) -> EndOfTries | None:
        """Return why there is no further attempt; attempts of a run that was killed count too."""
        files = self._files
        attempts = files.comparable(self._first_number)
        return end_of_tries(
            open_tries(
                attempts,
                settled_number=files.history.settled_number,
                fingerprint=files.fingerprint,
            ),
            self._context.limits,
            time_limited=sum(each.outcome is Outcome.TIME_LIMIT_EXCEEDED for each in attempts),
        )

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
        number, failure = await self._calling.call(is_retry=bool(self._made))
        self._made.add(number)
        if failure is None:
            await self._judge_resident()
        else:
            await self._files.record_verdict(number, call_failure(failure))
        return number

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
            places=context.judges,
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
            computed = await own_failure(context.compute_metrics(self._task, files.directory))
        except Exception as error:
            raise_if_storage(error)
            logger.exception("metrics of %s failed", self._task.id)
            self._error = f"metrics failed: {describe(error)}"
            await files.record(
                AttemptEventKind.METRICS_COMPUTED, accepted.number, error=describe(error)
            )
            return
        if not computed and self._metrics:
            return
        self._metrics = {**self._metrics, **computed}
        scores = {name: score.normalized_score for name, score in self._metrics.items()}
        await files.record(AttemptEventKind.METRICS_COMPUTED, accepted.number, scores=scores)

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
            stopped_early=self._stopped_early,
        )
