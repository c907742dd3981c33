"""What a run needs before it can call or judge, brought up when it is first needed.

A run that reuses every conversation starts no agent and loads no speech engine. When something
can't be brought up, no attempt is to blame: the run is told through `Preflight`, and the attempt
that asked waits to be cancelled, which costs it none of its budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import TypeVar

from orchestrator_assets.call.agent_process import AgentAddress, running_agent
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.call.speech.engines import default_speech_to_text
from orchestrator_assets.call.worker_pool import WorkerPool
from orchestrator_assets.errors import OrchestratorError
from orchestrator_assets.evaluation import Evaluation, SpeechJudge
from orchestrator_assets.judges.judge import Judge
from orchestrator_assets.judges.judges import Judges
from orchestrator_assets.records import Task
from orchestrator_assets.validation.result import ValidationResult
from orchestrator_assets.validation.validator import Validator

_T = TypeVar("_T")


class Preflight:
    """The first reason why the run can't go on, for the run to raise."""

    def __init__(self) -> None:
        self.failed = asyncio.Event()
        self.error: OrchestratorError | None = None

    async def required(self, coming_up: Awaitable[_T]) -> _T:
        """Return what is awaited; if it can't be had, report why and wait to be cancelled."""
        try:
            return await coming_up
        except OrchestratorError as error:
            if self.error is None:
                self.error = error
                self.failed.set()
            await asyncio.Event().wait()
            raise


class AgentOnDemand:
    """The agent, started at the first `address()` and stopped by `stop()`.

    Entering and leaving `running_agent` happens in one task of its own, whoever asks for it.
    """

    def __init__(self, evaluation: Evaluation, log_path: Path) -> None:
        self._evaluation = evaluation
        self._log_path = log_path
        self._lifetime: asyncio.Task[None] | None = None
        self._address: asyncio.Future[AgentAddress] = asyncio.get_running_loop().create_future()
        self._stopping = asyncio.Event()

    async def address(self) -> AgentAddress:
        """Return where the agent listens. Raises PreflightError if it does not come up."""
        if self._lifetime is None:
            self._lifetime = asyncio.create_task(self._live())
        return await asyncio.shield(self._address)

    async def stop(self) -> None:
        """Stop the agent if it was started."""
        self._stopping.set()
        if self._lifetime is None:
            return
        if not self._address.done():
            self._lifetime.cancel()
        await asyncio.wait({self._lifetime})
        if self._address.done() and not self._address.cancelled():
            self._address.exception()  # Marks it as seen: nobody may have waited for it any more.

    async def _live(self) -> None:
        try:
            async with running_agent(self._evaluation.agent, self._log_path) as address:
                self._address.set_result(address)
                await self._stopping.wait()
        except Exception as error:
            if self._address.done():
                raise
            self._address.set_exception(error)


class CallsOnDemand:
    """Places calls; the first one starts the agent and a worker process. Ended by `stop()`."""

    def __init__(self, evaluation: Evaluation, agent: AgentOnDemand, preflight: Preflight) -> None:
        self._evaluation = evaluation
        self._agent = agent
        self._preflight = preflight
        self._lock = asyncio.Lock()
        self._started = AsyncExitStack()
        self._pool: WorkerPool | None = None

    async def __call__(
        self, task: Task, attempt: int, directory: Path, slot: AbstractAsyncContextManager[object]
    ) -> ConversationResult:
        """Place the call of an attempt: see `PlaceCall`."""
        pool = await self._ready()
        return await pool(task, attempt, directory, slot)

    async def stop(self) -> None:
        """End the worker processes, if any were started."""
        await self._started.aclose()

    async def _ready(self) -> WorkerPool:
        async with self._lock:
            if self._pool is None:
                self._pool = await self._preflight.required(self._set_up())
            return self._pool

    async def _set_up(self) -> WorkerPool:
        address = await self._agent.address()
        return await self._started.enter_async_context(WorkerPool(self._evaluation, address))


class JudgesOnDemand(Judges):
    """The evaluation's judges, made when one is first needed. Ended by `aclose()`.

    One that is not configured keeps the run from going on.
    """

    def __init__(self, evaluation: Evaluation, preflight: Preflight) -> None:
        super().__init__(evaluation.judge, evaluation.audio_judge)
        self._preflight = preflight

    async def text(self) -> Judge:
        """Return the judge that reads."""
        return await self._preflight.required(super().text())

    async def audio(self) -> Judge:
        """Return the judge that listens."""
        return await self._preflight.required(super().audio())


class ValidationOnDemand:
    """Judges conversations; the first one loads the speech engine, and makes the audio judge."""

    def __init__(
        self, evaluation: Evaluation, preflight: Preflight, judges: Judges | None = None
    ) -> None:
        self._evaluation = evaluation
        self._preflight = preflight
        self._judges = judges
        self._lock = asyncio.Lock()
        self._validator: Validator | None = None

    async def __call__(self, task: Task, directory: Path, *, bypass_gate: bool) -> ValidationResult:
        """Judge the conversation in a directory: see `Validate`."""
        validator = await self._ready()
        return await validator.validate(task, directory, bypass_gate=bypass_gate)

    async def _ready(self) -> Validator:
        async with self._lock:
            if self._validator is None:
                loading = asyncio.to_thread(default_speech_to_text)
                speech_to_text = await self._preflight.required(loading)
                validation = self._evaluation.validation
                judged_by = validation.user_speech_fidelity.judged_by
                if judged_by is SpeechJudge.AUDIO_JUDGE and self._judges is not None:
                    await self._judges.audio()
                self._validator = Validator(
                    validation, speech_to_text, judges=self._judges, caller=self._evaluation.caller
                )
            return self._validator
