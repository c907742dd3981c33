"""`orchestrator-assets metrics`: scores of accepted conversations, in one Dagster run. No call."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator_assets.cli import ExitCode
from orchestrator_assets.command_line.console import make_console
from orchestrator_assets.command_line.run import print_where
from orchestrator_assets.command_line.score_plan import (
    ScoresToCompute,
    choose_scores,
    print_score_plan,
)
from orchestrator_assets.command_line.score_report import print_scores
from orchestrator_assets.command_line.watched_run import WatchedRun
from orchestrator_assets.dagster_assets.jobs import EvaluationJob
from orchestrator_assets.metrics.selection import ScoreChoice


def compute_metrics(
    wanted: str | None,
    *,
    metric_names: Collection[str],
    scores: ScoreChoice,
    record_ids: Collection[str],
) -> ExitCode:
    """Compute the chosen scores of an evaluation's accepted conversations, and print them.

    See `choose_scores` for what it raises. Conversations on which nothing is to be computed are
    left out of the run.
    """
    asked = choose_scores(wanted, metric_names, scores, record_ids)
    print_score_plan(asked)
    return _compute(asked) if asked.due else asked.nothing_missing


def _compute(asked: ScoresToCompute) -> ExitCode:
    choice, selection = asked.choice, asked.selection
    tasks = [each.task for each in asked.due]
    settings: dict[str, object] = {"scores": selection.scores.value}
    if selection.names is not None:
        settings["metric_names"] = sorted(selection.names)
    run = WatchedRun(choice.file, choice.evaluation)
    run.execute(
        lambda launcher: launcher.create_job_run(
            EvaluationJob.RECOMPUTE_METRICS, tasks, settings=settings
        ),
        tasks=len(tasks),
    )
    console = make_console()
    computed = {each.task.key: each.metrics for each in asked.due}
    all_there = print_scores(console, choice.evaluation.metrics, computed, run.settled)
    run.print_ending(console)
    print_where(choice)
    if run.exit_code is not ExitCode.ALL_ACCEPTED:
        return run.exit_code
    return asked.nothing_missing if all_there else ExitCode.SOME_FAILED
