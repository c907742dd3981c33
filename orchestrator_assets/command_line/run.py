"""`orchestrator-assets run` and `rerun`: a Dagster run in this process, watched on the terminal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus
from rich.console import Console

from orchestrator_assets.attempts.protocols import AttemptListener, AttemptMode
from orchestrator_assets.cli import ExitCode, exit_code_of
from orchestrator_assets.command_line.choice import Choice, choose
from orchestrator_assets.command_line.console import PLAIN_WIDTH, make_console
from orchestrator_assets.command_line.plan import print_plan
from orchestrator_assets.command_line.progress import run_progress
from orchestrator_assets.command_line.report import print_outcomes
from orchestrator_assets.dagster_assets import build_evaluation_definitions
from orchestrator_assets.dagster_assets.instance import prepare_dagster_home
from orchestrator_assets.dagster_assets.launch import Launcher
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_files import make_findable
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.plan import plan
from orchestrator_assets.records import Task


def settle_tasks(
    wanted: str | None,
    *,
    force: bool = False,
    rerun: bool = False,
    record_ids: Collection[str] = (),
    max_attempts: int | None = None,
    preflight: bool = True,
) -> ExitCode:
    """Settle tasks of an evaluation in one run: see `choose` for which, and what with."""
    choice = choose(
        wanted, force=force, rerun=rerun, record_ids=record_ids, max_attempts=max_attempts
    )
    if not choice.tasks:
        which = "None of these tasks" if record_ids else f"No task of {choice.evaluation.name}"
        make_console().print(f"{which} has failed.", highlight=False)
        return ExitCode.ALL_ACCEPTED
    return _Session(choice, preflight=preflight).run()


class _Session:
    """One run of an evaluation on the instance of the working directory."""

    def __init__(self, choice: Choice, *, preflight: bool) -> None:
        make_findable(choice.file)
        self._choice = choice
        self._evaluation = choice.evaluation
        self._preflight = preflight
        self._home = prepare_dagster_home()
        self._listener: AttemptListener | None = None
        self._run: EvaluationRun | None = None

    def run(self) -> ExitCode:
        """Show the plan, execute the run while showing its progress, and report how it ended."""
        _end_like_an_interrupt(signal.SIGINT, signal.SIGTERM)
        choice = self._choice
        print_plan(make_console(), choice, plan(choice.evaluation, choice.tasks, choice.mode))
        definitions = build_evaluation_definitions(self._evaluation, create_run=self._create_run)
        with DagsterInstance.get() as instance:
            launcher = Launcher(instance, self._evaluation, definitions)
            create = launcher.create_rerun if choice.rerun else launcher.create_run
            limits = {} if choice.max_attempts is None else {"max_attempts": choice.max_attempts}
            force = choice.mode is AttemptMode.FORCE
            # In the run's configuration too, so that executing it again in the UI keeps to it.
            dagster_run = create(choice.tasks, force=force, settings=limits)
            status = self._execute(launcher, dagster_run, choice.tasks)
            failure = launcher.failure_message(dagster_run.run_id)
        self._report(choice.tasks, status, failure)
        return self._exit_code(status)

    def _create_run(
        self, evaluation: Evaluation, tasks: Iterable[Task], *, mode: AttemptMode, run_id: str
    ) -> EvaluationRun:
        self._run = EvaluationRun(
            evaluation,
            tasks,
            mode=mode,
            run_id=run_id,
            listener=self._listener,
            preflight=self._preflight,
        )
        return self._run

    def _execute(
        self, launcher: Launcher, dagster_run: DagsterRun, tasks: Sequence[Task]
    ) -> DagsterRunStatus:
        evaluation = self._evaluation
        run_name = f"{evaluation.name} {dagster_run.run_id[:8]}"
        with _apart_from_dagster(self._log_path(dagster_run.run_id)) as console:
            progress = run_progress(console, run_name, len(tasks))
            self._listener = progress
            with progress.showing():
                return launcher.execute(dagster_run)

    def _log_path(self, run_id: str) -> Path:
        path = self._home / "run_logs" / f"{run_id}.log"
        path.parent.mkdir(exist_ok=True)
        return path

    def _report(self, tasks: Sequence[Task], status: DagsterRunStatus, failure: str | None) -> None:
        console = make_console()
        run = self._run
        for warning in run.warnings if run is not None else ():
            console.print(f"Warning: {warning}", markup=False, highlight=False, soft_wrap=True)
        print_outcomes(console, tasks, run.settled if run else ())
        if run is not None and run.error is not None:
            make_console(stderr=True).print(str(run.error), markup=False, highlight=False)
        elif status is DagsterRunStatus.FAILURE and self._is_unexplained():
            make_console(stderr=True).print(failure, markup=False, highlight=False)
        if status is DagsterRunStatus.CANCELED:
            console.print("Interrupted. The same command goes on where this run stopped.")
        elif status is DagsterRunStatus.FAILURE and run is not None and run.error is None:
            console.print(
                f"Try the failed tasks again: {self._choice.command('rerun')}", highlight=False
            )
        console.print(f"Files: {self._evaluation.run_directory}", highlight=False, soft_wrap=True)
        console.print(
            f"In the browser: {self._choice.command('ui')}", highlight=False, soft_wrap=True
        )

    def _is_unexplained(self) -> bool:
        return self._run is None or all(outcome.accepted for outcome in self._run.settled)

    def _exit_code(self, status: DagsterRunStatus) -> ExitCode:
        if status is DagsterRunStatus.CANCELED:
            return ExitCode.INTERRUPTED
        if self._run is not None and self._run.error is not None:
            return exit_code_of(self._run.error)
        if status is DagsterRunStatus.SUCCESS:
            return ExitCode.ALL_ACCEPTED
        return ExitCode.SOME_FAILED


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
