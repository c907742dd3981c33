"""Progress on a terminal and elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator_assets.attempts.outcomes import (
    Acceptance,
    AttemptSummary,
    Cause,
    Outcome,
    TaskOutcome,
)
from orchestrator_assets.command_line.progress import LiveProgress, PlainProgress, run_progress
from orchestrator_assets.records import Record, Task

TASK = Task(Record(id="[refund] naïve"))
FAILED = AttemptSummary(
    1, Outcome.NOT_FINISHED, Cause.TRANSPORT, None, 3.0, "the line [/] broke", Path("x")
)


def play(console: Console) -> None:
    progress = run_progress(console, "demo 1234", 2)
    with progress.showing():
        progress.attempt_started(TASK, 1)
        progress.attempt_ended(TASK, FAILED)
        progress.attempt_started(TASK, 2)
        progress.task_settled(TaskOutcome(TASK, Acceptance.VALIDATED, (FAILED,), 2))


def test_plain_lines_name_the_run_the_task_and_the_attempt() -> None:
    output = io.StringIO()

    play(Console(file=output, width=40))

    assert output.getvalue().splitlines() == [
        "demo 1234 [0/2] [refund] naïve: attempt 1 started",
        "demo 1234 [0/2] [refund] naïve: attempt 1 not_finished (transport): the line [/] broke",
        "demo 1234 [0/2] [refund] naïve: attempt 2 started",
        "demo 1234 [1/2] [refund] naïve: accepted (validated), after 1 attempt",
    ]


def test_a_terminal_shows_a_bar_and_keeps_what_has_ended() -> None:
    output = io.StringIO()

    play(Console(file=output, width=120, force_terminal=True, color_system=None))

    shown = output.getvalue()
    assert "demo 1234" in shown
    assert "1/2" in shown
    assert "✗ [refund] naïve: attempt 1 not_finished (transport): the line [/] broke" in shown
    assert "✓ [refund] naïve: accepted (validated)" in shown


def test_a_terminal_shows_each_attempt_while_it_is_live() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True, record=True)
    progress = LiveProgress(console, "demo 1234", 2)

    progress.attempt_started(TASK, 1)
    console.print(progress.content)
    assert "[refund] naïve · attempt 1" in console.export_text()

    progress.attempt_ended(TASK, FAILED)
    progress.attempt_started(TASK, 2)
    console.print(progress.content)
    shown = console.export_text()
    assert "· attempt 1" not in shown
    assert "[refund] naïve · attempt 2" in shown


@pytest.mark.parametrize(("is_terminal", "kind"), [(True, LiveProgress), (False, PlainProgress)])
def test_the_display_suits_the_console(is_terminal: bool, kind: type) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal)

    assert isinstance(run_progress(console, "demo", 1), kind)
