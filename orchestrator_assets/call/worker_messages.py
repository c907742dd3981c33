"""What a run and its worker processes say to each other, and how it goes over their socket.

Each message is a pickle behind its length in four bytes. Both ends are this package, on one
machine; the socket has no name that anybody else could connect to.
"""

from __future__ import annotations

import asyncio
import pickle
import signal
import struct
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.records import Task

TRACEBACK_SIGNAL = signal.SIGUSR1
"""Makes a worker write the tracebacks of its threads to its log, even when it is blocked."""

_LENGTH = struct.Struct("!I")

Placer = Callable[
    [Task, int, Path, AbstractAsyncContextManager[object]], Awaitable[ConversationResult]
]
"""Places the call of an attempt: `CallPlacer`, or what stands for one."""

MakePlacer = Callable[[Evaluation, AgentAddress], Placer]
"""Runs once in each worker process, to which it is pickled; it may block."""


@dataclass(frozen=True, slots=True)
class SetUp:
    """To a worker, first of all: what it calls, and how."""

    evaluation: Evaluation
    address: AgentAddress
    make_placer: MakePlacer


@dataclass(frozen=True, slots=True)
class BeginCall:
    """To a worker: prepare this call, then ask for its slot."""

    call_id: int
    task: Task
    attempt: int
    directory: Path


@dataclass(frozen=True, slots=True)
class GrantSlot:
    """To a worker: the call has its slot and may go live."""

    call_id: int


@dataclass(frozen=True, slots=True)
class CancelCall:
    """To a worker: hang up, keep what was recorded, and say when that is done."""

    call_id: int


@dataclass(frozen=True, slots=True)
class AskWhatBlocks:
    """To a worker that does not react: is its event loop blocked, and by which call?"""


@dataclass(frozen=True, slots=True)
class Ready:
    """From a worker: it is set up."""


@dataclass(frozen=True, slots=True)
class SetUpFailed:
    """From a worker: it can't place calls, and ends."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Stopping:
    """From a worker that was told to stop: it hangs up its calls and takes no more."""


@dataclass(frozen=True, slots=True)
class CallBegun:
    """From a worker: it has the call."""

    call_id: int


@dataclass(frozen=True, slots=True)
class SlotWanted:
    """From a worker: the call is prepared and waits for its slot."""

    call_id: int


@dataclass(frozen=True, slots=True)
class SlotLeft:
    """From a worker: the call is no longer live; its files are being completed."""

    call_id: int


@dataclass(frozen=True, slots=True)
class CallEnded:
    """From a worker: nothing more happens to the call.

    It has a result, or an error, or neither where it was cancelled.
    """

    call_id: int
    result: ConversationResult | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class LoopState:
    """From a worker's other thread: whether its event loop is blocked, and by which call."""

    blocked: bool
    call_id: int | None = None


def encode(message: object) -> bytes:
    """Return a message as it goes over the socket."""
    content = pickle.dumps(message)
    return _LENGTH.pack(len(content)) + content


def read_message(stream: BinaryIO) -> Any | None:
    """Return the next message of a blocking stream; None at its end, also amid a message."""
    length = stream.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(length)
    content = stream.read(size)
    return pickle.loads(content) if len(content) == size else None  # noqa: S301 - it is our own


async def receive_message(reader: asyncio.StreamReader) -> Any | None:
    """Return the next message; None once the other end is gone."""
    try:
        (size,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        return pickle.loads(await reader.readexactly(size))  # noqa: S301 - it is our own
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def portable(error: Exception) -> Exception:
    """Return the error so that it survives the way to another process, its traceback as a note."""
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))  # noqa: S301 - it is our own
    except Exception:  # noqa: BLE001 - whatever its constructor or its fields make of it
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    return copy if type(copy) is type(error) else RuntimeError(f"{type(error).__name__}: {error}")
