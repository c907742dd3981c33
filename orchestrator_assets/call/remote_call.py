"""A call that is held in a worker process, as the run sees it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path

from orchestrator_assets.call.worker_messages import CallEnded
from orchestrator_assets.records import Task


class CallPhase(Enum):
    """What a worker is doing for a call."""

    GIVEN = auto()
    """Nothing yet: the worker has not said that it has the call."""
    PREPARING = auto()
    WAITING = auto()
    LIVE = auto()
    FILING = auto()


class Blame(Enum):
    """What a call has to do with the end of its worker."""

    CHARGED = auto()
    """It alone can have caused it."""
    SUSPECT = auto()
    """It or one of the others did, and nobody knows which."""
    BYSTANDER = auto()
    """Another call did, or it had nothing to do when it happened."""


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """The worker ended before the call did. `how` goes behind "the worker process"."""

    how: str
    blame: Blame


class RemoteCall:
    """How far a call has come. Its futures never hold exceptions; all are done once it is over."""

    def __init__(self, call_id: int, task: Task, attempt: int, directory: Path) -> None:
        loop = asyncio.get_running_loop()
        self.call_id = call_id
        self.task = task
        self.attempt = attempt
        self.directory = directory
        self.began_at = datetime.now(UTC)
        self.phase = CallPhase.GIVEN
        self.overrun: str | None = None
        self.wants_slot: asyncio.Future[None] = loop.create_future()
        self.left_slot: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[CallEnded | WorkerLost] = loop.create_future()

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to the call in its worker."""
        return self.ended.done()

    @property
    def is_idle(self) -> bool:
        """Whether the worker has nothing to do for the call."""
        return self.phase in (CallPhase.GIVEN, CallPhase.WAITING)

    @property
    def left_live(self) -> bool:
        """Whether the call was live, and is no longer."""
        return self.phase is CallPhase.FILING

    def begin(self) -> None:
        """Note that the worker has the call."""
        self.phase = CallPhase.PREPARING

    def want_slot(self) -> None:
        """Note that the call is prepared."""
        self.phase = CallPhase.WAITING
        _resolve(self.wants_slot)

    def leave_slot(self) -> None:
        """Note that the call is no longer live."""
        self.phase = CallPhase.FILING
        _resolve(self.left_slot)

    def end(self, how: CallEnded | WorkerLost) -> None:
        """Note how the call ended, once and for all."""
        if not self.ended.done():
            self.ended.set_result(how)
        _resolve(self.wants_slot)
        _resolve(self.left_slot)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
