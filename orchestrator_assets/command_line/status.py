"""`orchestrator-assets status`: how an evaluation stands, also while a run works on it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.command_line.console import make_console
from orchestrator_assets.command_line.plan import shown_stale
from orchestrator_assets.command_line.report import counted
from orchestrator_assets.evaluation_files import find_evaluation
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.standing_scores import count_stale_scores
from orchestrator_assets.summary.status import (
    EvaluationStatus,
    Standing,
    TaskStanding,
    read_status,
    status_json,
)

_SHOWN_TASKS = 50


def show_status(wanted: str | None, *, as_json: bool) -> int:
    """Print how the tasks stand, and return 0. Reads the run directory, and changes nothing."""
    evaluation = find_evaluation(wanted).evaluation
    run_directory = RunDirectory(evaluation.run_directory)
    status = read_status(run_directory, evaluation.load_tasks())
    accepted = (each.task for each in status.tasks if each.standing is Standing.ACCEPTED)
    stale = count_stale_scores(run_directory, accepted, evaluation.metrics)
    console = make_console()
    if as_json:
        values = status_json(evaluation.name, run_directory, status)
        values["stale_scores"] = [
            {**score._asdict(), "conversations": count} for score, count in stale.items()
        ]
        text = json.dumps(values, ensure_ascii=False, indent=2)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        return 0
    lines = list(status_lines(evaluation.name, status))
    if stale:
        lines.append(f"scores of an older version: {shown_stale(stale)}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    _print_not_accepted(console, status)
    return 0


def status_lines(name: str, status: EvaluationStatus) -> Iterator[str]:
    """Yield the counts, the attempts and the last run, a line each."""
    accepted = f"{status.count(Standing.ACCEPTED):,} accepted"
    by_limit = status.accepted_by(Acceptance.TIME_LIMIT)
    if by_limit:
        accepted += f" ({by_limit:,} by the time limit)"
    yield (
        f"{name}: {counted(len(status.tasks), 'task')}: {accepted}, "
        f"{status.count(Standing.FAILED):,} failed, {status.count(Standing.PENDING):,} pending, "
        f"{status.count(Standing.IN_PROGRESS):,} in progress"
    )
    outcomes, causes = status.attempts_by_outcome, status.attempts_by_cause
    total = sum(outcomes.values())
    if total:
        yield f"{counted(total, 'attempt')}: {_shown(outcomes)}"
    if any(causes.values()):
        yield f"causes: {_shown(causes)}"
    yield _last_run(status)


def _shown(counts: Mapping[Outcome, int] | Mapping[Cause, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _last_run(status: EvaluationStatus) -> str:
    last = status.last_run
    if last is None:
        return "never run"
    began = f"last run {last.run_id[:8]}, begun {_local(last.started_at)}"
    if last.ended_at is not None:
        return f"{began}, ended {_local(last.ended_at)}"
    if status.last_run_is_going_on:
        return f"{began}, is going on"
    return f"{began}, has not said that it ended; it was killed, or has nothing in progress"


def _print_not_accepted(console: Console, status: EvaluationStatus) -> None:
    rows = status.not_accepted
    if not rows:
        return
    table = Table(box=None, pad_edge=False) if console.is_terminal else Table(box=box.ASCII2)
    table.add_column("task", overflow="fold")
    table.add_column("status", no_wrap=True)
    table.add_column("attempts", justify="right")
    table.add_column("last", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for row in rows[:_SHOWN_TASKS]:
        table.add_row(*_row(row))
    console.print(table)
    if len(rows) > _SHOWN_TASKS:
        console.print(f"… and {len(rows) - _SHOWN_TASKS:,} more; --json lists all", highlight=False)


def _row(row: TaskStanding) -> tuple[str, str, str, str, str]:
    finished = row.history.finished
    last = finished[-1] if finished else None
    ended = "" if last is None or last.outcome is None else last.outcome.value
    if last is not None and last.cause is not None:
        ended += f" ({last.cause.value})"
    reason = row.reason
    if row.since is not None:
        reason += f", since {_local(row.since)}, run {(row.run_id or '')[:8]}"
    return (
        escape(row.task.id),
        row.standing.value.replace("_", " "),
        str(len(finished)),
        ended,
        escape(reason),
    )


def _local(time: datetime) -> str:
    local = time.astimezone()
    today = datetime.now(UTC).astimezone().date()
    return local.strftime("%H:%M:%S" if local.date() == today else "%Y-%m-%d %H:%M")
