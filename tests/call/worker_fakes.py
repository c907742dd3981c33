"""What a worker process runs in place of real calls: calls that misbehave in every way.

How a call behaves is the first word of its record's id. Files tell the test how far it has come:
the call writes `live` (with its process id) into its directory, and goes on once `go` is there.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.call_log import call_log
from orchestrator_assets.call.conversation import ConversationResult, EndReason
from orchestrator_assets.call.event_log import EventLog
from orchestrator_assets.errors import SpeechEngineError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.records import Task
from orchestrator_assets.store.atomic import write_text

TRACKS = {
    "audio_user.wav": 8_000,
    "audio_assistant.wav": 8_000,
    "audio_mixed.wav": 8_000,
    "audio_user_clean.wav": 16_000,
}
RECORDED_SECONDS = 1.0
AGENT = AgentAddress("ws://unused")

logger = logging.getLogger("orchestrator_assets.tests.worker_fakes")


class FakeCalls:
    def __init__(self, evaluation: Evaluation, address: AgentAddress) -> None:
        self._evaluation = evaluation
        assert address == AGENT

    async def __call__(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        directory.mkdir(parents=True, exist_ok=True)
        behaviour = task.record.id.split()[0]
        if behaviour == "crashes_while_preparing":
            crash()
        reason = EndReason.CANCELLED
        with call_log(directory / "logs.log"):
            logger.info("this is %s", task.record.id)
            files = [WavWriter(directory / name, rate) for name, rate in TRACKS.items()]
            try:
                async with slot:
                    events = EventLog(directory / "user_simulator_events.jsonl", datetime.now(UTC))
                    events.session_started(datetime.now(UTC))
                    for file, rate in zip(files, TRACKS.values(), strict=True):
                        file.append(np.full(round(rate * RECORDED_SECONDS), 1_000, dtype=np.int16))
                    (directory / "live").write_text(str(os.getpid()))
                    await go_live(behaviour, directory)
                    reason = EndReason.GOODBYE
                if behaviour == "files_slowly":
                    await until_there(directory / "filed")
            finally:
                for file in files:
                    file.close()
                result = self._result(task, attempt, reason)
                write_text(directory / "result.json", result.model_dump_json())
            if behaviour == "crashes_with_all_files":
                crash()
            return result

    def _result(self, task: Task, attempt: int, reason: EndReason) -> ConversationResult:
        return ConversationResult(
            record_id=task.record.id,
            completed=reason is EndReason.GOODBYE,
            started_at=datetime.now(UTC),
            ended_at=datetime.now(UTC),
            duration_seconds=RECORDED_SECONDS,
            conversation_ended_reason=reason,
            task_id=task.id,
            attempt=attempt,
            fingerprint=self._evaluation.call_fingerprint(task.record),
            clock="wall",
        )


async def go_live(behaviour: str, directory: Path) -> None:
    if behaviour == "is_deaf_to_hanging_up":
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3_600)
    await until_there(directory / "go")
    endings: dict[str, Callable[[], object]] = {
        "crashes": crash,
        "exits": lambda: os._exit(3),
        "hangs": lambda: time.sleep(3_600),
        "fails": fail,
    }
    if behaviour in endings:
        endings[behaviour]()


async def until_there(path: Path) -> None:
    while not path.exists():
        await asyncio.sleep(0.01)


def crash() -> None:
    ctypes.string_at(0)


def fail() -> None:
    raise ValueError("a fault of the caller")


def speechless(evaluation: Evaluation, address: AgentAddress) -> FakeCalls:
    raise SpeechEngineError("no voice today")


def crashing_set_up(evaluation: Evaluation, address: AgentAddress) -> FakeCalls:
    crash()
    raise AssertionError("it has crashed")
