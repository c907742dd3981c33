"""What the command line says when a run is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestrator_assets.attempts.outcomes import AttemptSummary, TaskOutcome
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Task
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.score_value import score_value

_TASK_WIDTH = 30
"""Of the ids, which may be folded, at most so much counts when there is room for the scores."""
_COLUMN_WIDTHS = (8, 19, 10, 8)
_SCORE_WIDTH = 6
_IN_SECONDS = {"response_latency"}


def print_outcomes(
    console: Console,
    tasks: Sequence[Task],
    settled: Sequence[TaskOutcome],
    aggregation: Aggregation | None = None,
) -> None:
    """Print a table of the tasks in data-set order: attempts, outcome, acceptance, duration.

    Composites and scores follow, the evaluation's first metrics first, as many as the console is
    wide enough for; what is left out is said.
    """
    aggregation = aggregation or Aggregation()
    scores = {outcome.task.key: _scores_of(outcome, aggregation) for outcome in settled}
    names = _in_order(scores.values(), aggregation)
    longest_id = max((cell_len(task.id) for task in tasks), default=0)
    shown = _fitting(names, min(longest_id, _TASK_WIDTH), console.width)
    table = _table(console, shown)
    by_key = {outcome.task.key: outcome for outcome in settled}
    for task in tasks:
        outcome = by_key.get(task.key)
        if outcome is None:
            table.add_row(escape(task.id), "", "unfinished")
        else:
            cells = (_score(scores[task.key].get(name), name) for name in shown)
            table.add_row(*_row(outcome), *cells)
    console.print(table)
    left_out = len(names) - len(shown)
    if left_out:
        console.print(
            f"{counted(left_out, 'score')} of each task did not fit; results.csv has them all.",
            highlight=False,
        )
    accepted = sum(outcome.accepted for outcome in settled)
    console.print(f"{accepted} of {counted(len(tasks), 'task')} accepted.", highlight=False)


def _scores_of(outcome: TaskOutcome, aggregation: Aggregation) -> dict[str, MetricScore]:
    metrics = outcome.metrics or {}
    if not metrics:
        return {}
    composites = aggregation.computed_composites.scores(metrics, evidence=False)
    return {**metrics, **composites}


def _in_order(scores: Iterable[Mapping[str, MetricScore]], aggregation: Aggregation) -> list[str]:
    there = {name for each in scores for name in each}
    first = [name for name in (*aggregation.composites, *aggregation.metrics) if name in there]
    return [*first, *sorted(there.difference(first))]


def _fitting(names: Sequence[str], task_width: int, width: int) -> list[str]:
    shown: list[str] = []
    for name in names:
        if _width(task_width, [*shown, name]) > width:
            break
        shown.append(name)
    return shown


def _table(console: Console, metrics: Sequence[str]) -> Table:
    # A terminal of 80 columns has no room for lines between them.
    look: dict[str, Any] = (
        {"box": None, "collapse_padding": True, "pad_edge": False}
        if console.is_terminal
        else {"box": box.ASCII2}
    )
    table = Table(**look)
    table.add_column("task", overflow="fold")
    table.add_column("attempts", justify="right")
    table.add_column("outcome")
    table.add_column("acceptance")
    table.add_column("duration", justify="right")
    for name in metrics:
        table.add_column(_heading(name), justify="right", no_wrap=True)
    return table


def _width(task_width: int, metrics: Sequence[str]) -> int:
    """Return the columns that a table with these metrics takes."""
    headings = [max(map(len, _heading(name).split("\n"))) for name in metrics]
    columns = [task_width, *_COLUMN_WIDTHS, *(max(each, _SCORE_WIDTH) for each in headings)]
    return sum(columns) + 3 * len(columns) + 1


def _heading(metric: str) -> str:
    """Return a metric's name on several lines: its scores are short."""
    return metric.replace("_", "\n")


def _score(score: MetricScore | None, metric: str) -> str:
    value = score_value(score)
    if value is None:
        return "[red]error[/]" if score is not None and score.error is not None else ""
    return with_unit(value, metric)


def with_unit(value: float, metric: str) -> str:
    """Return a score as people read it: seconds where it is one in seconds."""
    return f"{value:.2f} s" if metric in _IN_SECONDS else f"{value:.3g}"


def counted(count: int, noun: str) -> str:
    """Return `1 task`, `2 tasks` and so on."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _row(outcome: TaskOutcome) -> tuple[str, str, str, str, str]:
    attempt = deciding_attempt(outcome)
    verdict = attempt.outcome.value if attempt else "not called"
    if outcome.reused:
        verdict += ", reused"
    return (
        escape(outcome.task.id),
        str(len(outcome.attempts)),
        verdict if outcome.accepted else f"[red]{verdict}[/]",
        outcome.acceptance.value if outcome.acceptance else "[red]none[/]",
        f"{attempt.duration_seconds:.1f} s" if attempt else "",
    )


def deciding_attempt(outcome: TaskOutcome) -> AttemptSummary | None:
    """Return the accepted attempt, else the last one; None for a task never called."""
    for attempt in outcome.attempts:
        if attempt.number == outcome.accepted_attempt:
            return attempt
    return outcome.attempts[-1] if outcome.attempts else None
