"""`orchestrator-assets summarize`: the summaries once more, from what is on disk."""

from __future__ import annotations

from orchestrator_assets.cli import ExitCode
from orchestrator_assets.command_line.choice import choose
from orchestrator_assets.command_line.console import make_console
from orchestrator_assets.command_line.run import print_where
from orchestrator_assets.command_line.statistics_report import print_statistics
from orchestrator_assets.command_line.status import status_lines
from orchestrator_assets.command_line.watched_run import WatchedRun
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.status import read_status


def summarize_again(wanted: str | None) -> ExitCode:
    """Aggregate an evaluation in one run that calls, judges and scores nothing."""
    choice = choose(wanted)
    evaluation = choice.evaluation
    run = WatchedRun(choice.file, evaluation)
    run.execute(lambda launcher: launcher.create_summary_run(), tasks=0)
    console = make_console()
    status = read_status(RunDirectory(evaluation.run_directory), choice.tasks)
    for line in status_lines(evaluation.name, status):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    print_statistics(console, evaluation)
    run.print_ending(console)
    print_where(choice)
    return run.exit_code
