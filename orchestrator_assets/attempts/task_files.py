"""One task's directory, archives and journal, as the attempt loop changes them.

Every step is durable before the next begins, and each is safe to be killed in: what the journal
says and what lies on disk can be told apart and carried on from (`find_resident`).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from orchestrator_assets.attempts.acceptance import time_limit_candidate
from orchestrator_assets.attempts.classification import Verdict
from orchestrator_assets.attempts.context import AttemptContext
from orchestrator_assets.attempts.events import (
    AttemptEvent,
    AttemptEventKind,
    append_event,
    read_events,
)
from orchestrator_assets.attempts.history import (
    AcceptedAttempt,
    PastAttempt,
    TaskHistory,
    history_after,
    history_of,
    summarize_attempts,
)
from orchestrator_assets.attempts.outcomes import Acceptance, AttemptSummary
from orchestrator_assets.attempts.resident import (
    Resident,
    find_resident,
    mark_time_limit_accepted,
    next_number,
    read_result,
    standing_acceptance,
)
from orchestrator_assets.attempts.tries import EndOfTries
from orchestrator_assets.call.conversation import ADOPTED_FINGERPRINT, ConversationResult
from orchestrator_assets.records import Task
from orchestrator_assets.store.archive import move_directory
from orchestrator_assets.store.atomic import make_directory
from orchestrator_assets.store.disk import check_room_for_a_call


class TaskFiles:
    """The files of one task. `load` first; the task's lock is held throughout."""

    def __init__(self, task: Task, context: AttemptContext) -> None:
        self.task = task
        self.directory: Path = context.run_directory.task_directory(task)
        self.fingerprint = context.fingerprint(task.record)
        self.resident: Resident | None = None
        self.history = TaskHistory()
        self._context = context
        self._run_directory = context.run_directory
        self._journal = context.run_directory.journal(task)

    async def load(self) -> None:
        """Read the journal, and see what lies in the task's directory."""
        await self._context.files.run(self._load)

    def _load(self) -> None:
        self.history = history_of(read_events(self._journal))
        self.resident = find_resident(self._run_directory, self.task, self.history)

    @property
    def accepted(self) -> AcceptedAttempt | None:
        """The acceptance, if its conversation is there."""
        return standing_acceptance(self.history, self.resident)

    @property
    def past(self) -> PastAttempt | None:
        """What the journal knows of the attempt in the task's directory."""
        return None if self.resident is None else self.history.attempts.get(self.resident.number)

    @property
    def resident_fingerprint(self) -> str | None:
        """The fingerprint under which the attempt in the task's directory counts as made.

        An adopted one, made under conditions nobody knows, counts as made under the present ones.
        """
        recorded = self._recorded_fingerprint
        return self.fingerprint if recorded == ADOPTED_FINGERPRINT else recorded

    @property
    def _recorded_fingerprint(self) -> str | None:
        if self.past is not None and self.past.fingerprint is not None:
            return self.past.fingerprint
        result = None if self.resident is None else self.resident.result
        return None if result is None else result.fingerprint

    async def record(self, kind: AttemptEventKind, attempt: int, **facts: Any) -> None:
        """Add an event to the journal."""
        event = AttemptEvent(event=kind, attempt=attempt, run_id=self._context.run_id, **facts)
        await self._context.files.run(append_event, self._journal, event)
        self.history = history_after(self.history, event)

    async def begin(self) -> int:
        """Make the directory of the next attempt, and return its number.

        Raises StorageError if there is no room for another call.
        """
        return await self._context.files.run(self._begin)

    def _begin(self) -> int:
        check_room_for_a_call(self._run_directory.root)
        make_directory(self.directory)
        return next_number(self._run_directory, self.task, self.history)

    async def abandon(self) -> None:
        """Remove the directory of an attempt whose call never went live: it holds no call."""
        await self._context.files.run(shutil.rmtree, self.directory, ignore_errors=True)

    async def record_ended(self, number: int, result: ConversationResult) -> None:
        """Record that the call in the task's directory is over."""
        await self.record(
            AttemptEventKind.ENDED,
            number,
            fingerprint=result.fingerprint,
            ended_reason=result.conversation_ended_reason,
            duration_seconds=result.duration_seconds,
            error=result.error,
        )
        self.resident = Resident(number, result)

    async def record_verdict(self, number: int, verdict: Verdict) -> None:
        """Record how an attempt ended."""
        await self.record(
            AttemptEventKind.JUDGED,
            number,
            outcome=verdict.outcome,
            cause=verdict.cause,
            reason=verdict.reason,
            validation=verdict.validation,
            error=verdict.error,
        )

    async def accept(
        self, number: int, acceptance: Acceptance, *, restored_from: Path | None = None
    ) -> None:
        """Accept the attempt in the task's directory."""
        if acceptance is Acceptance.TIME_LIMIT:
            await self._context.files.run(mark_time_limit_accepted, self.directory)
        await self.record(
            AttemptEventKind.ACCEPTED,
            number,
            acceptance=acceptance,
            fingerprint=self._recorded_fingerprint,
            archive=None if restored_from is None else self._relative(restored_from),
        )

    async def give_up(self, end: EndOfTries) -> None:
        """Record that the task has failed with its last attempt."""
        number = self.history.last_number
        await self.record(
            AttemptEventKind.GAVE_UP, number, reason=end.reason, stopped_early=end.early
        )

    async def set_aside(self, number: int) -> None:
        """Archive what an interrupted call has left, if anything: it counts nowhere."""
        await self.record(AttemptEventKind.CANCELLED, number)
        self.resident = await self._context.files.run(self._left_behind, number)
        await self.archive()

    def _left_behind(self, number: int) -> Resident | None:
        if not any(self.directory.iterdir()):
            return None
        return Resident(number, read_result(self.directory))

    async def archive(self) -> None:
        """Move what is in the task's directory, if anything, to its attempt's archive.

        The journal says so first: an acceptance must end before its conversation is moved.
        """
        if self.resident is None:
            return
        number = self.resident.number
        archive = self._run_directory.archive_directory(self.task, number)
        await self.record(AttemptEventKind.ARCHIVED, number, archive=self._relative(archive))
        await self._context.files.run(move_directory, self.directory, archive)
        self.resident = None

    async def restore(self, number: int) -> None:
        """Bring an attempt back from its own archive, and accept it."""
        archive = self._run_directory.archive_directory(self.task, number)
        await self._context.files.run(move_directory, archive, self.directory)
        result = await self._context.files.run(read_result, self.directory)
        self.resident = Resident(number, result)
        await self.accept(number, Acceptance.TIME_LIMIT, restored_from=archive)

    def comparable(self, first_number: int) -> list[PastAttempt]:
        """Return the attempts that count under the present settings, from a number on."""
        fingerprint = self.resident_fingerprint or self.fingerprint
        return [
            attempt
            for attempt in self.history.finished
            if attempt.fingerprint in (fingerprint, ADOPTED_FINGERPRINT)
            and attempt.number >= first_number
        ]

    async def time_limit_candidate(self, *, first_number: int) -> int | None:
        """Return which time-limited attempt to accept now, none numbered below `first_number`."""
        return await self._context.files.run(
            time_limit_candidate,
            self.comparable(first_number),
            max_time_limit_attempts=self._context.limits.max_time_limit_attempts,
            current=None if self.resident is None else self.resident.number,
            is_there=self._has_archive,
        )

    async def summaries(self) -> tuple[AttemptSummary, ...]:
        """Return all attempts for people."""
        return await self._context.files.run(self.known_attempts)

    async def summary(self, number: int) -> AttemptSummary:
        """Return one attempt for people."""
        return next(each for each in await self.summaries() if each.number == number)

    def known_attempts(self) -> tuple[AttemptSummary, ...]:
        """Like `summaries`, at once and as far as the journal has been read."""
        return summarize_attempts(self.history, self._run_directory, self.task)

    def _has_archive(self, number: int) -> bool:
        archive = self._run_directory.archive_directory(self.task, number)
        return read_result(archive) is not None

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._run_directory.root).as_posix()
