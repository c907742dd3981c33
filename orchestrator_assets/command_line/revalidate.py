"""`orchestrator-assets revalidate`: accepted conversations are judged again, nobody is called."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator_assets.cli import ExitCode
from orchestrator_assets.command_line.plan import choose_to_judge
from orchestrator_assets.command_line.run import report_settled
from orchestrator_assets.command_line.watched_run import WatchedRun
from orchestrator_assets.dagster_assets.jobs import EvaluationJob


def judge_again(wanted: str | None, *, record_ids: Collection[str] = ()) -> ExitCode:
    """Judge the accepted conversations of an evaluation again, in one run.

    Those that no longer pass stay where they are, and are no longer accepted; `run` calls for them.
    Raises ConfigurationError for an evaluation or a record that does not exist.
    """
    choice = choose_to_judge(wanted, record_ids)
    if not choice.tasks:
        return ExitCode.SOME_FAILED
    run = WatchedRun(choice.file, choice.evaluation)
    run.execute(
        lambda launcher: launcher.create_job_run(
            EvaluationJob.REVALIDATE, choice.tasks, settings={"max_attempts": 0}
        ),
        tasks=len(choice.tasks),
    )
    report_settled(choice, run)
    return run.exit_code
