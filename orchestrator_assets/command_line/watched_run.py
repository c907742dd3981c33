"""A Dagster run in this process, on the working directory's instance, watched on a terminal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus
from rich.console import Console

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptListener, AttemptMode
from orchestrator_assets.cli import ExitCode, exit_code_of
from orchestrator_assets.command_line.console import PLAIN_WIDTH, make_console
from orchestrator_assets.command_line.progress import run_progress
from orchestrator_assets.dagster_assets import build_evaluation_definitions
from orchestrator_assets.dagster_assets.instance import prepare_dagster_home
from orchestrator_assets.dagster_assets.launch import Launcher, RunFailure
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_files import EvaluationFile, make_findable
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.metrics.selection import MetricSelection
from orchestrator_assets.records import Task


class WatchedRun:
    """One run of an evaluation, and how it ended once `execute` has returned."""

    def __init__(
        self, file: EvaluationFile, evaluation: Evaluation, *, preflight: bool = True
    ) -> None:
        make_findable(file)
        self._evaluation = evaluation
        self._preflight = preflight
        self._home = prepare_dagster_home()
        self._listener: AttemptListener | None = None
        self._run: EvaluationRun | None = None
        self._failure: RunFailure | None = None
        self.status = DagsterRunStatus.NOT_STARTED

    @property
    def settled(self) -> list[TaskOutcome]:
        """The outcomes, in the order in which the tasks settled."""
        return [] if self._run is None else self._run.settled

    @property
    def tasks_failed(self) -> bool:
        """Whether it failed by its tasks, and by no error of the whole run."""
        run = self._run
        return self.status is DagsterRunStatus.FAILURE and run is not None and run.error is None

    def execute(self, create: Callable[[Launcher], DagsterRun], *, tasks: int) -> None:
        """Execute the run that `create` makes for so many tasks, and show its progress."""
        _end_like_an_interrupt(signal.SIGINT, signal.SIGTERM)
        definitions = build_evaluation_definitions(self._evaluation, create_run=self._create_run)
        with DagsterInstance.get() as instance:
            launcher = Launcher(instance, self._evaluation, definitions)
            run = create(launcher)
            run_name = f"{self._evaluation.name} {run.run_id[:8]}"
            with _apart_from_dagster(self._log_path(run.run_id)) as console:
                progress = run_progress(console, run_name, tasks)
                self._listener = progress
                with progress.showing():
                    self.status = launcher.execute(run)
            self._failure = launcher.failure(run.run_id)

    def print_warnings(self, console: Console) -> None:
        """Print what looked doubtful before the first call."""
        for warning in self._run.warnings if self._run is not None else ():
            console.print(f"Warning: {warning}", markup=False, highlight=False, soft_wrap=True)

    def print_ending(self, console: Console) -> None:
        """Print why the run broke off, if it did."""
        if self._run is not None and self._run.error is not None:
            make_console(stderr=True).print(str(self._run.error), markup=False, highlight=False)
        elif self._failure is not None and self._is_unexplained(self._failure):
            make_console(stderr=True).print(self._failure.message, markup=False, highlight=False)
        if self.status is DagsterRunStatus.CANCELED:
            console.print("Interrupted. The same command goes on where this run stopped.")

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends, by the run."""
        if self.status is DagsterRunStatus.CANCELED:
            return ExitCode.INTERRUPTED
        if self._run is not None and self._run.error is not None:
            return exit_code_of(self._run.error)
        if self.status is DagsterRunStatus.SUCCESS:
            return ExitCode.ALL_ACCEPTED
        return ExitCode.SOME_FAILED

    def _create_run(
        self,
        evaluation: Evaluation,
        tasks: Iterable[Task],
        *,
        mode: AttemptMode,
        run_id: str,
        metric_selection: MetricSelection | None,
    ) -> EvaluationRun:
        self._run = EvaluationRun(
            evaluation,
            tasks,
            mode=mode,
            run_id=run_id,
            metric_selection=metric_selection,
            listener=self._listener,
            preflight=self._preflight,
        )
        return self._run

    def _log_path(self, run_id: str) -> Path:
        path = self._home / "run_logs" / f"{run_id}.log"
        path.parent.mkdir(exist_ok=True)
        return path

    def _is_unexplained(self, failure: RunFailure) -> bool:
        if self.status is not DagsterRunStatus.FAILURE:
            return False
        return not failure.on_purpose or all(outcome.accepted for outcome in self.settled)


def _end_like_an_interrupt(*signals: signal.Signals) -> None:
    for number in signals:
        signal.signal(number, signal.default_int_handler)


@contextmanager
def _apart_from_dagster(log_path: Path) -> Iterator[Console]:
    """Keep the terminal for the progress display; all else that is printed goes to `log_path`.

    Dagster mirrors what a step prints from child processes, so the file descriptors themselves are
    redirected, and the display writes to a copy of the original one.
    """
    if not _is_descriptor(sys.stdout, 1):
        yield make_console()
        return
    sys.stdout.flush()
    sys.stderr.flush()
    stdout, stderr = os.dup(1), os.dup(2)
    try:
        with log_path.open("ab") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        with os.fdopen(os.dup(stdout), "w", encoding=sys.stdout.encoding, errors="replace") as file:
            console = Console(file=file)
            yield console if console.is_terminal else Console(file=file, width=PLAIN_WIDTH)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for original, number in ((stdout, 1), (stderr, 2)):
            os.dup2(original, number)
            os.close(original)


def _is_descriptor(stream: object, number: int) -> bool:
    try:
        return stream.fileno() == number  # type: ignore[attr-defined,no-any-return]
    except (AttributeError, OSError):
        return False
