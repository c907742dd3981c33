"""A worker process: places the calls it is given on an event loop of its own.

It ends when its connection to the run does: a run that is killed leaves nobody calling on. A second
thread reads the connection, so that this also holds while a call blocks the event loop.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import socket
import threading
import time
import traceback
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from types import TracebackType
from typing import NoReturn

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.call.placing import CallPlacer
from orchestrator_assets.call.speech.engines import default_speech_to_text, default_text_to_speech
from orchestrator_assets.call.worker_messages import (
    TRACEBACK_SIGNAL,
    AskWhatBlocks,
    BeginCall,
    CallBegun,
    CallEnded,
    CancelCall,
    GrantSlot,
    LoopState,
    Placer,
    Ready,
    SetUp,
    SetUpFailed,
    SlotLeft,
    SlotWanted,
    Stopping,
    encode,
    portable,
    read_message,
)
from orchestrator_assets.evaluation import Evaluation

_LOOP_ANSWER_SECONDS = 1.0
_LAST_HANG_UP_SECONDS = 3.0
"""What the calls get to hang up once the run is gone. Soon after, another run may take over their
directories."""

logger = logging.getLogger(__name__)


def call_placer(evaluation: Evaluation, address: AgentAddress) -> CallPlacer:
    """Return the evaluation's own placer, with the process's speech engines loaded.

    Raises SpeechEngineError where they are missing.
    """
    text_to_speech, speech_to_text = default_text_to_speech(), default_speech_to_text()
    return CallPlacer(evaluation, address, text_to_speech, speech_to_text)


def main(descriptor: int) -> None:
    """Be a worker at this end of a socket pair, until the other end is gone."""
    faulthandler.enable()
    faulthandler.register(TRACEBACK_SIGNAL, all_threads=True)
    # Ctrl-C reaches every process of the terminal; what to make of it is for the run to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a call logs goes to its own log; here only what is amiss.
    to_worker_log = logging.StreamHandler()
    to_worker_log.setLevel(logging.WARNING)
    layout = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(format=layout, handlers=[to_worker_log])
    asyncio.run(_serve(socket.socket(fileno=descriptor)))


async def _serve(connection: socket.socket) -> NoReturn:
    await _Worker(connection).serve()
    # Without waiting for threads: an engine at work would go on for the sake of nobody.
    os._exit(0)


class _Worker:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._place: Placer | None = None
        self._calls: dict[int, asyncio.Task[ConversationResult]] = {}
        self._slots: dict[int, _RemoteSlot] = {}

    async def serve(self) -> None:
        """Do as told until the connection ends or SIGTERM comes, then hang up all calls."""
        self._loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        threading.Thread(target=self._listen, name="worker-connection", daemon=True).start()
        await self._stopping.wait()
        self.send(Stopping())
        for call in self._calls.values():
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls.values(), timeout=_LAST_HANG_UP_SECONDS)

    def _listen(self) -> None:
        """Read the connection, in a thread of its own."""
        with self._connection.makefile("rb") as stream, suppress(OSError):
            while (message := read_message(stream)) is not None:
                if isinstance(message, AskWhatBlocks):
                    self.send(self._loop_state())
                else:
                    self._loop.call_soon_threadsafe(self._handle, message)
        self._loop.call_soon_threadsafe(self._stopping.set)
        time.sleep(_LAST_HANG_UP_SECONDS + 1)
        os._exit(1)

    def _loop_state(self) -> LoopState:
        answered = threading.Event()
        self._loop.call_soon_threadsafe(answered.set)
        if answered.wait(_LOOP_ANSWER_SECONDS):
            return LoopState(blocked=False)
        running = asyncio.current_task(self._loop)
        ids = [call_id for call_id, call in list(self._calls.items()) if call is running]
        return LoopState(blocked=True, call_id=ids[0] if ids else None)

    def send(self, message: object) -> None:
        """Tell the run; safe from any thread. A run that is gone is told nothing."""
        with self._sending, suppress(OSError):
            self._connection.sendall(encode(message))

    def _handle(self, message: object) -> None:
        match message:
            case SetUp():
                self._setting_up = self._loop.create_task(self._set_up(message))
            case BeginCall() if not self._stopping.is_set():
                self._begin(message)
            case GrantSlot(call_id):
                if call_id in self._slots:
                    self._slots[call_id].granted.set()
            case CancelCall(call_id):
                if call_id in self._calls:
                    self._calls[call_id].cancel()

    async def _set_up(self, message: SetUp) -> None:
        try:
            self._place = await asyncio.to_thread(
                message.make_placer, message.evaluation, message.address
            )
        except Exception as error:
            logger.exception("the worker can't place calls")
            self.send(SetUpFailed(portable(error)))
            self._stopping.set()
        else:
            self.send(Ready())

    def _begin(self, message: BeginCall) -> None:
        call_id = message.call_id
        self.send(CallBegun(call_id))
        self._slots[call_id] = slot = _RemoteSlot(self, call_id)
        self._calls[call_id] = call = self._loop.create_task(self._hold(message, slot))
        call.add_done_callback(partial(self._ended, call_id))

    async def _hold(self, message: BeginCall, slot: _RemoteSlot) -> ConversationResult:
        if self._place is None:
            raise RuntimeError("the worker was given a call before it was ready")
        return await self._place(message.task, message.attempt, message.directory, slot)

    def _ended(self, call_id: int, call: asyncio.Task[ConversationResult]) -> None:
        del self._calls[call_id], self._slots[call_id]
        if call.cancelled():
            self.send(CallEnded(call_id))
            return
        error = call.exception()
        if isinstance(error, Exception):
            trace = "".join(traceback.format_exception(error))
            error = portable(error)
            error.add_note(f"In the worker process:\n{trace}")
            self.send(CallEnded(call_id, error=error))
        elif error is None:
            self.send(CallEnded(call_id, result=call.result()))


class _RemoteSlot(AbstractAsyncContextManager[None]):
    """The slot of a call, which the run holds on its behalf."""

    def __init__(self, worker: _Worker, call_id: int) -> None:
        self.granted = asyncio.Event()
        self._worker = worker
        self._call_id = call_id

    async def __aenter__(self) -> None:
        self._worker.send(SlotWanted(self._call_id))
        await self.granted.wait()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._worker.send(SlotLeft(self._call_id))
