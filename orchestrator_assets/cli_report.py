"""What the command line says when a run is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestrator_assets.attempts.outcomes import AttemptSummary, TaskOutcome
from orchestrator_assets.records import Task


def print_outcomes(console: Console, tasks: Sequence[Task], settled: Sequence[TaskOutcome]) -> None:
    """Print a table of the tasks in data-set order: attempts, outcome, acceptance, duration."""
    by_key = {outcome.task.key: outcome for outcome in settled}
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
    for task in tasks:
        outcome = by_key.get(task.key)
        if outcome is None:
            table.add_row(escape(task.id), "", "unfinished", "", "")
        else:
            table.add_row(*_row(outcome))
    console.print(table)
    accepted = sum(outcome.accepted for outcome in settled)
    console.print(f"{accepted} of {counted(len(tasks), 'task')} accepted.", highlight=False)


def counted(count: int, noun: str) -> str:
    """Return `1 task`, `2 tasks` and so on."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
