"""`orchestrator-assets run` and `rerun`: settles tasks in one Dagster run."""

from __future__ import annotations

from collections.abc import Collection

from dagster import DagsterRun

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.cli import ExitCode
from orchestrator_assets.command_line.choice import Choice, choose
from orchestrator_assets.command_line.console import make_console
from orchestrator_assets.command_line.plan import print_plan
from orchestrator_assets.command_line.report import print_outcomes
from orchestrator_assets.command_line.statistics_report import print_statistics
from orchestrator_assets.command_line.watched_run import WatchedRun
from orchestrator_assets.dagster_assets.launch import Launcher
from orchestrator_assets.plan import plan
from orchestrator_assets.summary.aggregation import Aggregation


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
    console = make_console()
    if not choice.tasks:
        which = "None of these tasks" if record_ids else f"No task of {choice.evaluation.name}"
        console.print(f"{which} has failed.", highlight=False)
        return ExitCode.ALL_ACCEPTED
    run = WatchedRun(choice.file, choice.evaluation, preflight=preflight)
    print_plan(console, choice, plan(choice.evaluation, choice.tasks, choice.mode))
    run.execute(lambda launcher: _created(launcher, choice), tasks=len(choice.tasks))
    report_settled(choice, run)
    return run.exit_code


def _created(launcher: Launcher, choice: Choice) -> DagsterRun:
    create = launcher.create_rerun if choice.rerun else launcher.create_run
    # In the run's configuration too, so that executing it again in the UI keeps to it.
    limits = {} if choice.max_attempts is None else {"max_attempts": choice.max_attempts}
    return create(choice.tasks, force=choice.mode is AttemptMode.FORCE, settings=limits)


def report_settled(choice: Choice, run: WatchedRun) -> None:
    """Print how the tasks of a run settled, and where to look further."""
    console = make_console()
    run.print_warnings(console)
    print_outcomes(console, choice.tasks, run.settled, Aggregation.of(choice.evaluation))
    if run.settled:
        print_statistics(console, choice.evaluation)
    run.print_ending(console)
    if run.tasks_failed:
        console.print(f"Try the failed tasks again: {choice.command('rerun')}", highlight=False)
    errored = sum(_errored(choice, outcome) for outcome in run.settled)
    if errored:
        again = choice.command("metrics --failed")
        console.print(
            f"Scores that could not be computed: {errored:,}. Try them again: {again}",
            highlight=False,
            soft_wrap=True,
        )
    print_where(choice)


def _errored(choice: Choice, outcome: TaskOutcome) -> int:
    scores = (outcome.metrics or {}).items()
    return sum(
        score.error is not None for name, score in scores if name in choice.evaluation.metrics
    )


def print_where(choice: Choice) -> None:
    """Print where the evaluation's files are, and how to see them in the browser."""
    console = make_console()
    console.print(f"Files: {choice.evaluation.run_directory}", highlight=False, soft_wrap=True)
    console.print(f"In the browser: {choice.command('ui')}", highlight=False, soft_wrap=True)
