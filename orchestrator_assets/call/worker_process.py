"""The run's side of one worker process: starts it, talks to it, and ends it if need be.

A worker is a fresh interpreter at the other end of a socket pair. It is not started by
`multiprocessing`, whose children import the program that started them once more, which may be
Dagster or a script that is not made for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from orchestrator_assets.call.remote_call import Blame, CallPhase, RemoteCall, WorkerLost
from orchestrator_assets.call.worker_messages import (
    TRACEBACK_SIGNAL,
    AskWhatBlocks,
    BeginCall,
    CallBegun,
    CallEnded,
    CancelCall,
    GrantSlot,
    LoopState,
    Ready,
    SetUp,
    SetUpFailed,
    SlotLeft,
    SlotWanted,
    Stopping,
    encode,
    receive_message,
)
from orchestrator_assets.errors import PreflightError
from orchestrator_assets.records import Task

_BOOTSTRAP = "import sys; from orchestrator_assets.call.worker import main; main(int(sys.argv[1]))"
_TRACEBACK_SECONDS = 0.2
_ANSWER_SECONDS = 3.0
"""For a worker's second thread, which itself gives the first one a second."""
_FILING_LOAD = 0.25
"""What a call that only completes its files weighs, beside one that is or will be live."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How long the run waits for a worker, in seconds of the wall clock."""

    starting: float = 60.0
    preparing: float = 600.0
    grace: float = 30.0
    """For a live call, beyond the time limit of its conversation."""
    filing: float = 600.0
    reaction: float = 5.0
    """To take notice of anything: a worker with a blocked event loop does not."""
    hanging_up: float = 15.0
    """To hang up, where the event loop does run."""


class WorkerProcess:
    """One worker. Its futures and calls belong to the event loop of the run."""

    def __init__(
        self, set_up: SetUp, log_path: Path, limits: WorkerLimits, live_calls: int
    ) -> None:
        self.accepting = True
        self.assigned = 0
        self.live = asyncio.Semaphore(live_calls)
        self._set_up = set_up
        self._log_path = log_path
        self._limits = limits
        self._calls: dict[int, RemoteCall] = {}
        self._call_ids = count()
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._lifetime: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._loop_state: asyncio.Future[LoopState] | None = None
        self._verdict: str | None = None
        self._culprit: RemoteCall | None = None
        self._closing = False

    @property
    def load(self) -> float:
        """How much it has to do, counted in calls."""
        filing = sum(call.phase is CallPhase.FILING for call in self._calls.values())
        return self.assigned - filing * (1 - _FILING_LOAD)

    @property
    def ended(self) -> bool:
        """Whether it was started, and its process is gone."""
        return self._lifetime is not None and self._lifetime.done()

    @property
    def pid(self) -> int | None:
        """Its process, once that has been started."""
        return None if self._process is None else self._process.pid

    async def ready(self) -> None:
        """Start it if it has not been, and return when it takes calls.

        Raises what setting it up raised there, PreflightError if it ended or was not ready in time.
        """
        if self._lifetime is None:
            self._lifetime = asyncio.create_task(self._live())
        done, _ = await asyncio.wait({self._ready}, timeout=self._limits.starting)
        if not done:
            await self._kill(f"was not ready within {self._limits.starting:g} s", None)
        await asyncio.shield(self._ready)

    def begin(self, task: Task, attempt: int, directory: Path) -> RemoteCall:
        """Give it a call to prepare."""
        call = RemoteCall(next(self._call_ids), task, attempt, directory)
        if self.accepting:
            self._calls[call.call_id] = call
            self._send(BeginCall(call.call_id, task, attempt, directory))
        else:
            call.end(WorkerLost("had ended before the call began", Blame.BYSTANDER))
        return call

    def grant_slot(self, call: RemoteCall) -> None:
        """Let the call go live."""
        call.phase = CallPhase.LIVE
        self._send(GrantSlot(call.call_id))

    async def hang_up(self, call: RemoteCall) -> None:
        """Return once the call is over: hung up by the worker, or the worker killed.

        A call that has been held gets time to complete its files, so that it need not be repeated.
        """
        if call.left_live and call.overrun is None:
            await _is_over(call, self._limits.hanging_up)
        if call.is_over:
            return
        self._send(CancelCall(call.call_id))
        if await _is_over(call, self._limits.reaction):
            return
        # Whatever becomes of it, nobody should be given to it now.
        self.accepting = False
        how = f"did not react for {self._limits.reaction:g} s"
        state = await self._ask_what_blocks()
        if state is None:
            await self._kill(how, None)
        elif state.blocked:
            await self._kill(how, self._calls.get(-1 if state.call_id is None else state.call_id))
        elif await _is_over(call, self._limits.hanging_up):
            self.accepting = not (self._closing or self._verdict or self.ended)
        else:
            waited = self._limits.reaction + self._limits.hanging_up
            await self._kill(f"had not hung up after {waited:g} s", call)

    async def close(self) -> None:
        """End it: its connection closes, and soon after it is killed if it has not ended."""
        self.accepting = False
        self._closing = True
        if self._lifetime is None:
            return
        if self._writer is not None:
            self._writer.close()
        else:
            self._lifetime.cancel()
        await asyncio.wait({self._lifetime})
        if not self._lifetime.cancelled() and (error := self._lifetime.exception()) is not None:
            logger.error("a worker process ended badly", exc_info=error)

    async def _live(self) -> None:
        """Start the process, take its messages until it is gone, and see to its calls then."""
        try:
            reader = await self._start()
            self._send(self._set_up)
            while (message := await receive_message(reader)) is not None:
                self._handle(message)
        except Exception as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # Marks it as seen: its askers may be gone.
            raise
        finally:
            self.accepting = False
            if self._writer is not None:
                self._writer.close()
            self._bury(await self._exit())

    async def _start(self) -> asyncio.StreamReader:
        own_end, worker_end = socket.socketpair()
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with worker_end, self._log_path.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *("-P", "-c", _BOOTSTRAP, str(worker_end.fileno())),
                    pass_fds=(worker_end.fileno(),),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    # Away from the terminal's signals from the first moment on.
                    start_new_session=True,
                    env={**os.environ, "PYTHONPATH": _module_search_path()},
                )
            own_end.setblocking(False)
            reader, self._writer = await asyncio.open_unix_connection(sock=own_end)
        except BaseException:
            own_end.close()
            raise
        return reader

    def _handle(self, message: object) -> None:
        match message:
            case Ready() if not self._ready.done():
                self._ready.set_result(None)
            case SetUpFailed(error) if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # Marks it as seen: its askers may be gone.
            case Stopping():
                self.accepting = False
            case CallBegun(call_id):
                self._calls[call_id].begin()
            case SlotWanted(call_id):
                self._calls[call_id].want_slot()
            case SlotLeft(call_id):
                self._calls[call_id].leave_slot()
            case CallEnded(call_id):
                self._calls.pop(call_id).end(message)
            case LoopState() if self._loop_state is not None and not self._loop_state.done():
                self._loop_state.set_result(message)

    def _send(self, message: object) -> None:
        # A worker that is gone is noticed by what it no longer says.
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(message))

    async def _ask_what_blocks(self) -> LoopState | None:
        """Ask the worker's other thread; None if even that gives no answer."""
        if self._loop_state is None or self._loop_state.done():
            self._loop_state = asyncio.get_running_loop().create_future()
            self._send(AskWhatBlocks())
        await asyncio.wait({self._loop_state}, timeout=_ANSWER_SECONDS)
        return self._loop_state.result() if self._loop_state.done() else None

    async def _kill(self, why: str, culprit: RemoteCall | None) -> None:
        """End the process at once, its tracebacks written to its log, and wait for that."""
        self.accepting = False
        if self._verdict is None:
            self._verdict, self._culprit = f"{why} and was killed", culprit
            logger.error("the worker process %s %s", self.pid, self._verdict)
            self._signal(TRACEBACK_SIGNAL)
            await asyncio.sleep(_TRACEBACK_SECONDS)
            self._signal(signal.SIGKILL)
        if self._lifetime is not None:
            await asyncio.wait({self._lifetime})

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _exit(self) -> str:
        """Wait for the process to end, which it does once its connection has; tell how it did."""
        if self._process is None:
            return "could not be started"
        ending = asyncio.ensure_future(self._process.wait())
        await asyncio.wait({ending}, timeout=self._limits.reaction)
        if not ending.done():
            self._signal(signal.SIGKILL)
        code = await ending
        if self._verdict is not None:
            return self._verdict
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _bury(self, how: str) -> None:
        """Tell all who still wait that the process is gone."""
        if not self._ready.done():
            where = f"; what it wrote is in {self._log_path}"
            self._ready.set_exception(PreflightError(f"a worker process {how}{where}"))
            self._ready.exception()  # Marks it as seen: its askers may be gone.
        calls = list(self._calls.values())
        self._calls.clear()
        if calls and not self._closing:
            logger.error("the worker process %s %s; calls in it: %d", self.pid, how, len(calls))
        busy = [call for call in calls if not call.is_idle]
        for call in calls:
            call.end(WorkerLost(how, self._blame(call, busy)))

    def _blame(self, call: RemoteCall, busy: Collection[RemoteCall]) -> Blame:
        if self._closing:
            return Blame.BYSTANDER
        if self._culprit is not None:
            return Blame.CHARGED if call is self._culprit else Blame.BYSTANDER
        if call not in busy:
            return Blame.BYSTANDER
        return Blame.CHARGED if len(busy) == 1 else Blame.SUSPECT


async def _is_over(call: RemoteCall, timeout_seconds: float) -> bool:
    await asyncio.wait({call.ended}, timeout=timeout_seconds)
    return call.is_over


def _module_search_path() -> str:
    """Return this process's, for the worker to find the same modules."""
    return os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
