"""`results.csv` read back: how every task stands, without opening a file per task."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator_assets.attempts.events import read_events
from orchestrator_assets.attempts.history import history_of
from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.journal import Journal
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.results_csv import EVA_COLUMNS, OWN_COLUMNS
from orchestrator_assets.summary.task_state import TaskStatus


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A row. Texts are empty where there is nothing to say; `scores` are those there are."""

    task_id: str
    key: str
    status: str
    attempts: str
    outcome: str
    cause: str
    scores: Mapping[str, float]

    @property
    def failed(self) -> bool:
        """Whether the task was tried and has failed."""
        return self.status == TaskStatus.FAILED


def read_results(run_directory: RunDirectory) -> list[TaskResult]:
    """Return the rows of `results.csv`; none where it is missing or damaged."""
    try:
        with run_directory.results_path.open(encoding="utf-8", newline="") as file:
            return [_result(row) for row in csv.DictReader(file)]
    except (OSError, ValueError, KeyError):
        # It is a view; the summary and the journals beside it are what counts.
        return []


def _result(row: Mapping[str, str]) -> TaskResult:
    metrics = row.keys() - set(EVA_COLUMNS) - set(OWN_COLUMNS)
    return TaskResult(
        task_id=row["record_id"],
        key=row["key"],
        status=row["status"],
        attempts=row["attempts"],
        outcome=row["outcome"],
        cause=row["cause"],
        scores={name: float(row[name]) for name in metrics if row[name]},
    )


def what_happened(run_directory: RunDirectory, task: TaskResult) -> str:
    """Return the reason of the task's last attempt, from its journal, in one line."""
    journal = Journal(run_directory.journal_path(f"{task.key}.jsonl"))
    try:
        finished = history_of(read_events(journal)).finished
    except RunDirectoryError as error:
        return str(error)
    return finished[-1].reason if finished else ""
