"""Places calls in worker processes, a few live calls each, and outlives every one of them.

One Python process keeps the frames of about ten live calls in time; more calls need more processes.
Processes also keep calls apart: a crash or a hang costs the call that caused it one attempt. The
other calls of its worker are interrupted, which costs them nothing. Where nobody knows which call
caused it, each is placed again alone, and the one that does it again is charged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.conversation import RESULT_FILE, ConversationResult, EndReason
from orchestrator_assets.call.remote_call import Blame, RemoteCall, WorkerLost
from orchestrator_assets.call.salvage import salvage
from orchestrator_assets.call.worker import call_placer
from orchestrator_assets.call.worker_messages import CallEnded, MakePlacer, SetUp
from orchestrator_assets.call.worker_process import WorkerLimits, WorkerProcess
from orchestrator_assets.errors import InterruptedCallError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.records import Task

WORKERS_LOG_FILE = "workers.log"
_QUARANTINED_CALLS = 2
"""Calls that may have a worker of their own at the same time, beside the usual workers."""

_T = TypeVar("_T")

logger = logging.getLogger(__name__)


class WorkerPool:
    """`async with WorkerPool(evaluation, address) as place_call:` gives a `PlaceCall`.

    Workers are started as they are needed, the first on entering, which raises what keeps it from
    placing calls: SpeechEngineError, or PreflightError. On leaving all of them are ended. What they
    print, and how they crash, goes to `workers.log` in the evaluation's run directory.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        address: AgentAddress,
        *,
        make_placer: MakePlacer = call_placer,
        limits: WorkerLimits | None = None,
        log_path: Path | None = None,
    ) -> None:
        calls = evaluation.max_concurrent_conversations
        self._evaluation = evaluation
        self._set_up = SetUp(evaluation, address, make_placer)
        self._limits = limits or WorkerLimits()
        self._log_path = log_path or evaluation.run_directory / WORKERS_LOG_FILE
        self._max_workers = evaluation.workers or ceil(calls / evaluation.calls_per_worker)
        self._share = ceil(calls / self._max_workers)
        self._quarantine = asyncio.Semaphore(_QUARANTINED_CALLS)
        self._workers: list[WorkerProcess] = []
        self._lone_workers: list[WorkerProcess] = []
        self._suspects: set[str] = set()

    async def __aenter__(self) -> Self:
        try:
            await self._least_loaded().ready()
        except BaseException:
            await _unbroken(self._close())
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await _unbroken(self._close())

    @property
    def pids(self) -> list[int]:
        """The worker processes that take calls."""
        workers = [*self._workers, *self._lone_workers]
        return [worker.pid for worker in workers if worker.accepting and worker.pid is not None]

    async def __call__(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        """Place the call of an attempt in a worker: see `CallPlacer`.

        A call that took its worker down, or had to be hung up from outside, is a result with reason
        `error`. Raises InterruptedCallError for a call that lost its worker and is not to blame.
        """
        async with self._worker_for(task) as worker:
            await worker.ready()
            call = worker.begin(task, attempt, directory)
            try:
                await self._follow(worker, call, slot)
            except BaseException:
                await _unbroken(self._abandon(worker, call))
                raise
            return await _unbroken(self._conclude(call))

    @asynccontextmanager
    async def _worker_for(self, task: Task) -> AsyncIterator[WorkerProcess]:
        if task.key not in self._suspects:
            worker = self._least_loaded()
            worker.assigned += 1
            try:
                yield worker
            finally:
                worker.assigned -= 1
            return
        async with self._quarantine:
            worker = self._new_worker(live_calls=1)
            self._lone_workers.append(worker)
            try:
                yield worker
            finally:
                await _unbroken(worker.close())
                self._lone_workers.remove(worker)

    def _least_loaded(self) -> WorkerProcess:
        """Return the worker with the least to do, a new one where all have enough."""
        self._workers = [worker for worker in self._workers if not worker.ended]
        usable = [worker for worker in self._workers if worker.accepting]
        worker = min(usable, key=lambda worker: worker.load, default=None)
        if worker is None or (worker.load >= self._share and len(usable) < self._max_workers):
            worker = self._new_worker(live_calls=self._evaluation.calls_per_worker)
            self._workers.append(worker)
        return worker

    def _new_worker(self, *, live_calls: int) -> WorkerProcess:
        return WorkerProcess(self._set_up, self._log_path, self._limits, live_calls)

    async def _follow(
        self, worker: WorkerProcess, call: RemoteCall, slot: AbstractAsyncContextManager[object]
    ) -> None:
        """See the call through all its phases, each within its limit."""
        limits = self._limits
        await self._reach(worker, call, call.wants_slot, limits.preparing, "its preparation")
        if not call.is_over:
            # The worker's own slot first: nobody else could use the other one meanwhile.
            async with worker.live, slot:
                if not call.is_over:
                    worker.grant_slot(call)
                live = self._evaluation.conversation_time_limit_seconds + limits.grace
                await self._reach(worker, call, call.left_slot, live, "the live call")
        await self._reach(worker, call, call.ended, limits.filing, "the completion of its files")

    async def _reach(
        self,
        worker: WorkerProcess,
        call: RemoteCall,
        step: asyncio.Future[Any],
        limit_seconds: float,
        what: str,
    ) -> None:
        """Wait for a step of the call; hang up if it does not come in time, or when cancelled."""
        try:
            done, _ = await asyncio.wait({step}, timeout=limit_seconds)
            if not done:
                call.overrun = f"{what} took longer than {limit_seconds:g} s"
                logger.error("%s: %s", call.task.id, call.overrun)
                await worker.hang_up(call)
        except asyncio.CancelledError:
            await _unbroken(worker.hang_up(call))
            raise

    async def _abandon(self, worker: WorkerProcess, call: RemoteCall) -> None:
        """Hang up a call that nobody waits for any more, and complete its files if it was live."""
        await worker.hang_up(call)
        if isinstance(end := call.ended.result(), WorkerLost):
            message = f"the run was stopped; the worker process {end.how}"
        elif call.left_live and not (call.directory / RESULT_FILE).exists():
            message = "the run was stopped before the files of the call were complete"
        else:
            return
        await self._salvage(call, EndReason.CANCELLED, message)

    async def _conclude(self, call: RemoteCall) -> ConversationResult:
        """Return the result of a call that is over, or raise what it comes to."""
        match call.ended.result():
            case CallEnded(error=Exception() as error):
                raise error
            case CallEnded(result=ConversationResult() as result):
                self._suspects.discard(call.task.key)
                return result
            case CallEnded() if call.overrun is not None:
                return await self._salvage(call, EndReason.ERROR, f"{call.overrun}; it was hung up")
            case CallEnded():
                return await self._interrupted(call, "the worker process was told to stop")
            case WorkerLost(how, Blame.CHARGED):
                message = f"{call.overrun}; " if call.overrun else ""
                message += f"the worker process {how} (see {self._log_path.name})"
                return await self._salvage(call, EndReason.ERROR, message)
            case WorkerLost(how, blame):
                if blame is Blame.SUSPECT:
                    self._suspects.add(call.task.key)
                return await self._interrupted(call, f"the worker process {how}")

    async def _interrupted(self, call: RemoteCall, message: str) -> ConversationResult:
        result = await self._salvage(call, EndReason.CANCELLED, message)
        if result.conversation_ended_reason is EndReason.CANCELLED:
            raise InterruptedCallError(f"the call was interrupted: {message}")
        return result

    async def _salvage(
        self, call: RemoteCall, reason: EndReason, message: str
    ) -> ConversationResult:
        return await asyncio.to_thread(salvage, call, self._evaluation, reason, message)

    async def _close(self) -> None:
        workers = [*self._workers, *self._lone_workers]
        await asyncio.gather(*(worker.close() for worker in workers))


async def _unbroken(work: Coroutine[Any, Any, _T]) -> _T:
    """Await `work` to its end; a cancellation meanwhile is passed on only then."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):  # The first one is raised below.
                await asyncio.wait({task})
        raise
