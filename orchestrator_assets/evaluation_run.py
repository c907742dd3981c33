"""One invocation of an evaluation: everything put together, from the agent to the summaries.

`EvaluationRun` is the composition root and knows no Dagster. `OutcomeStream` drives it from a
thread of its own, so that whoever consumes the outcomes may block without holding up a live call.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from orchestrator_assets.attempts.loop import run_attempts
from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import (
    AttemptLimits,
    AttemptListener,
    AttemptMode,
    ComputeMetrics,
    PlaceCall,
    Validate,
)
from orchestrator_assets.attempts.scoring import selection_for
from orchestrator_assets.errors import OrchestratorError, StorageError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.judges.judges import Judges
from orchestrator_assets.metrics.computation import MetricsComputation
from orchestrator_assets.metrics.selection import MetricSelection
from orchestrator_assets.plan import plan
from orchestrator_assets.preflight import check_before_calling
from orchestrator_assets.provenance import resolved_configuration
from orchestrator_assets.records import Task
from orchestrator_assets.run_setup import (
    AgentOnDemand,
    CallsOnDemand,
    JudgesOnDemand,
    Preflight,
    ValidationOnDemand,
)
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.refreshing import ChangeListener, refreshing
from orchestrator_assets.summary.task_state import TaskStatus, read_task_state
from orchestrator_assets.summary.writing import SummaryWriter, write_summaries

logger = logging.getLogger(__name__)

AGENT_LOG_FILE = "agent.log"
_WAKE_UP_SECONDS = 1.0
STOP_TIMEOUT_SECONDS = 120.0
"""How long a stopped run may take to hang up, write its summary and stop the agent."""


class EvaluationRun:
    """Brings tasks of an evaluation to an accepted conversation, and scores it.

    `metric_selection` tells which scores are computed: all where only metrics are asked for (by
    `mode`), else those that are lacking. Calls, validation and metrics are the evaluation's own
    unless given. `settled` collects the outcomes as they come; it is complete, and the summaries
    are written, when `outcomes()` ends, is cancelled or raises; what it raised of this package's
    errors is kept in `error`, and what looked doubtful before the first call in `warnings`. Without
    `preflight`, or where the calls are not the evaluation's own, nobody looks.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        tasks: Iterable[Task],
        *,
        mode: AttemptMode = AttemptMode.CALL,
        run_id: str,
        metric_selection: MetricSelection | None = None,
        listener: AttemptListener | None = None,
        place_call: PlaceCall | None = None,
        validate: Validate | None = None,
        compute_metrics: ComputeMetrics | None = None,
        preflight: bool = True,
    ) -> None:
        self.evaluation = evaluation
        self.tasks = tuple(tasks)
        self.mode = mode
        self.run_id = run_id
        self.metric_selection = metric_selection or selection_for(mode)
        self.run_directory = RunDirectory(evaluation.run_directory)
        self.settled: list[TaskOutcome] = []
        self.error: OrchestratorError | None = None
        self.warnings: list[str] = []
        self._listener = listener
        self._place_call = place_call
        self._validate = validate
        self._compute_metrics = compute_metrics
        self._looks_before_calling = preflight and place_call is None

    async def outcomes(self) -> AsyncGenerator[TaskOutcome, None]:
        """Yield how each task settles, in the order in which they do.

        Raises PreflightError or SpeechEngineError where no call can be placed or nothing can be
        judged: before anything is written, if that can be known so early. Otherwise, whatever ends
        it, live calls are hung up, the agent is stopped and the summaries are written before it
        does. They are also kept up to date meanwhile.
        """
        try:
            await self._look_before_calling()
            async with aclosing(self._settle()) as outcomes:
                async for outcome in outcomes:
                    self.settled.append(outcome)
                    yield outcome
        except OrchestratorError as error:
            self.error = error
            raise

    async def _look_before_calling(self) -> None:
        if not self._looks_before_calling:
            return
        planned = await asyncio.to_thread(plan, self.evaluation, self.tasks, self.mode)
        if planned.calls:
            self.warnings = await check_before_calling(self.evaluation, planned)
            for warning in self.warnings:
                logger.warning("%s", warning)

    async def _settle(self) -> AsyncGenerator[TaskOutcome, None]:
        evaluation, run_directory = self.evaluation, self.run_directory
        preflight = Preflight()
        agent = AgentOnDemand(evaluation, run_directory.root / AGENT_LOG_FILE)
        calls = CallsOnDemand(evaluation, agent, preflight)
        judges = JudgesOnDemand(evaluation, preflight)
        news = ChangeListener(self._listener)
        summaries = SummaryWriter(
            run_directory, evaluation.load_tasks(), Aggregation.of(evaluation)
        )
        write_configuration(evaluation)
        async with AsyncExitStack() as endings:
            endings.push(self._write_last_summaries)
            endings.push_async_callback(agent.stop)
            endings.push_async_callback(calls.stop)
            endings.push_async_callback(judges.aclose)
            await endings.enter_async_context(refreshing(news.changed, summaries.write))
            async with aclosing(self._attempts(preflight, calls, judges, news)) as attempts:
                async for outcome in attempts:
                    yield outcome

    def _write_last_summaries(
        self,
        _exc_type: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        try:
            write_evaluation_summaries(self.evaluation)
        except OSError:
            if not isinstance(error, StorageError):
                raise
            logger.warning("nor can the summaries be written", exc_info=True)

    async def _attempts(
        self,
        preflight: Preflight,
        calls: CallsOnDemand,
        judges: Judges,
        listener: AttemptListener,
    ) -> AsyncGenerator[TaskOutcome, None]:
        evaluation = self.evaluation
        attempts = run_attempts(
            self.tasks,
            run_directory=self.run_directory,
            place_call=self._place_call or calls,
            validate=self._validate or ValidationOnDemand(evaluation, preflight, judges),
            compute_metrics=(
                self._compute_metrics
                or MetricsComputation(
                    evaluation.metrics, judges=judges, selection=self.metric_selection
                ).compute
            ),
            fingerprint=evaluation.call_fingerprint,
            limits=AttemptLimits(
                max_attempts=evaluation.max_attempts,
                max_time_limit_attempts=evaluation.max_time_limit_attempts,
                max_concurrent_conversations=evaluation.max_concurrent_conversations,
                retry_on=evaluation.retry_on,
            ),
            run_id=self.run_id,
            mode=self.mode,
            listener=listener,
            metric_names=evaluation.metrics,
        )
        failed = asyncio.ensure_future(preflight.failed.wait())
        following: asyncio.Future[TaskOutcome | None] | None = None
        try:
            while True:
                following = asyncio.ensure_future(anext(attempts, None))
                await asyncio.wait({following, failed}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    break
                outcome = following.result()
                if outcome is None:
                    return
                yield outcome
        finally:
            failed.cancel()
            if following is not None and not following.done():
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following
            await attempts.aclose()
        if preflight.error is not None:
            raise preflight.error


def write_configuration(evaluation: Evaluation) -> None:
    """Write the evaluation's `config.json`. Raises StorageError where nothing can be written."""
    run_directory = RunDirectory(evaluation.run_directory)
    try:
        run_directory.write_config(resolved_configuration(evaluation))
    except OSError as error:
        raise StorageError(f"{run_directory.root} can't be written to: {error.strerror}") from error


def write_evaluation_summaries(evaluation: Evaluation) -> None:
    """Write the summaries of all tasks of an evaluation, from its run directory alone."""
    write_summaries(
        RunDirectory(evaluation.run_directory),
        evaluation.load_tasks(),
        Aggregation.of(evaluation),
    )


def failed_tasks(evaluation: Evaluation) -> list[Task]:
    """Return the tasks that were called and are not accepted, by their journals.

    A task that was only interrupted, or never called, has not failed: it is still to be done.
    """
    run_directory = RunDirectory(evaluation.run_directory)
    states = [read_task_state(run_directory, task) for task in evaluation.load_tasks()]
    return [
        state.task
        for state in states
        if state.status is not TaskStatus.ACCEPTED and state.history.finished
    ]


class OutcomeStream:
    """Outcomes of a run that lives in a thread and an event loop of its own.

    A context manager and an iterator. Iterating blocks until the next task has settled or somebody
    calls `stop()`, and raises what the run raised. Leaving the context cancels the run if it is
    still going, and returns when it has stopped: live calls hung up, summaries written.
    """

    def __init__(self, run: Callable[[], AsyncGenerator[TaskOutcome, None]]) -> None:
        self._run = run
        self.stopped = False
        self._items: queue.SimpleQueue[TaskOutcome | _Ended] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._started = threading.Event()
        # A daemon, so that a second interrupt while stopping ends the process.
        self._thread = threading.Thread(target=self._drive, name="evaluation-run", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._started.wait()
        except BaseException:
            self._cancel()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._cancel()

    def stop(self) -> None:
        """End the iteration before the next outcome. Safe to call from a signal handler."""
        self.stopped = True
        self._items.put(_Ended(None))

    def _cancel(self) -> None:
        if self._loop is not None and self._task is not None:
            # The loop is closed where the run has ended by itself.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(STOP_TIMEOUT_SECONDS)
        if self._thread.is_alive():
            logger.error("the run did not stop within %g seconds", STOP_TIMEOUT_SECONDS)

    def __iter__(self) -> Iterator[TaskOutcome]:
        while not self.stopped:
            try:
                # A signal that arrives just before it blocks is handled only once it returns.
                item = self._items.get(timeout=_WAKE_UP_SECONDS)
            except queue.Empty:
                continue
            if isinstance(item, _Ended):
                if item.error is not None:
                    raise item.error
                return
            yield item

    def _drive(self) -> None:
        try:
            asyncio.run(self._consume())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the consumer
            self._items.put(_Ended(error))
        else:
            self._items.put(_Ended(None))
        finally:
            self._started.set()

    async def _consume(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._started.set()
        async with aclosing(self._run()) as outcomes:
            async for outcome in outcomes:
                self._items.put(outcome)


@dataclass(frozen=True, slots=True)
class _Ended:
    error: BaseException | None
