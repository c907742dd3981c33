"""How the progress of a run is shown: a live display on a terminal, plain lines anywhere else."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from orchestrator_assets.attempts.outcomes import AttemptSummary, Outcome, TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptListener
from orchestrator_assets.records import Task


class RunProgress(AttemptListener, Protocol):
    """Shows what the attempt loop tells it, while its context is open."""

    def showing(self) -> AbstractContextManager[object]:
        """Return the context within which progress is shown."""
        ...


def run_progress(console: Console, run_name: str, total: int) -> RunProgress:
    """Return the display that suits the console."""
    kind = LiveProgress if console.is_terminal else PlainProgress
    return kind(console, run_name, total)


class LiveProgress:
    """A bar for the run, a line for each live attempt, and lines that stay for what has ended."""

    def __init__(self, console: Console, run_name: str, total: int) -> None:
        self._console = console
        self._run = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tasks settled"),
            TimeElapsedColumn(),
            console=console,
        )
        self._attempts = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console
        )
        self._bar = self._run.add_task(escape(run_name), total=total)
        self._lines: dict[str, TaskID] = {}

    @property
    def content(self) -> RenderableType:
        """What is shown: the run's bar above the live attempts."""
        return Group(self._run, self._attempts)

    def showing(self) -> AbstractContextManager[object]:
        """Return the live display."""
        return Live(
            self.content,
            console=self._console,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def attempt_started(self, task: Task, attempt: int) -> None:
        """Add a line for the attempt."""
        self._remove_line(task)
        self._lines[task.key] = self._attempts.add_task(f"{escape(task.id)} · attempt {attempt}")

    def attempt_ended(self, task: Task, summary: AttemptSummary) -> None:
        """Remove the attempt's line, and say so if it failed."""
        self._remove_line(task)
        if summary.outcome is not Outcome.PASSED:
            self._print("  [yellow]✗[/]", attempt_line(task, summary))

    def task_settled(self, outcome: TaskOutcome) -> None:
        """Advance the bar."""
        self._remove_line(outcome.task)
        self._run.advance(self._bar)
        self._print("[green]✓[/]" if outcome.accepted else "[red]✗[/]", settled_line(outcome))

    def _print(self, mark: str, line: str) -> None:
        self._console.print(f"{mark} {escape(line)}", highlight=False)

    def _remove_line(self, task: Task) -> None:
        line = self._lines.pop(task.key, None)
        if line is not None:
            self._attempts.remove_task(line)


class PlainProgress:
    """A line whenever an attempt starts or ends and a task settles."""

    def __init__(self, console: Console, run_name: str, total: int) -> None:
        self._console = console
        self._run_name = run_name
        self._total = total
        self._settled = 0

    def showing(self) -> AbstractContextManager[object]:
        """Return a context that does nothing: lines are printed as they come."""
        return nullcontext()

    def attempt_started(self, task: Task, attempt: int) -> None:
        """Print the attempt."""
        self._print(f"{task.id}: attempt {attempt} started")

    def attempt_ended(self, task: Task, summary: AttemptSummary) -> None:
        """Print how the attempt ended."""
        self._print(attempt_line(task, summary))

    def task_settled(self, outcome: TaskOutcome) -> None:
        """Print how the task settled."""
        self._settled += 1
        self._print(settled_line(outcome))

    def _print(self, line: str) -> None:
        self._console.print(
            f"{self._run_name} [{self._settled}/{self._total}] {line}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def attempt_line(task: Task, summary: AttemptSummary) -> str:
    """Return one line on how an attempt ended."""
    cause = f" ({summary.cause.value})" if summary.cause else ""
    return f"{task.id}: attempt {summary.number} {summary.outcome.value}{cause}: {summary.reason}"


def settled_line(outcome: TaskOutcome) -> str:
    """Return one line on how a task settled."""
    if outcome.acceptance is None:
        reason = f": {outcome.error}" if outcome.error else ""
        return f"{outcome.task.id}: not accepted after {_attempts(outcome)}{reason}"
    how = "reused" if outcome.reused else f"after {_attempts(outcome)}"
    return f"{outcome.task.id}: accepted ({outcome.acceptance.value}), {how}"


def _attempts(outcome: TaskOutcome) -> str:
    count = len(outcome.attempts)
    return "1 attempt" if count == 1 else f"{count} attempts"
