"""Where all tasks stand, read again and again: only what has changed is read anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator_assets.attempts.history import PastAttempt
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.task_state import TaskState, read_task_state

_Stamp = tuple[tuple[int, int], tuple[int, int]]


class ChangedStates:
    """Keeps the states of tasks, without the details of their scores, which summaries leave out.

    A task is read anew when its journal or its directory is not what it was. What is moved in
    between archives alone goes unnoticed; nothing of ours does that.
    """

    def __init__(self, run_directory: RunDirectory, tasks: Sequence[Task]) -> None:
        self._run_directory = run_directory
        self._tasks = [
            (task, run_directory.journal(task).path, run_directory.task_directory(task))
            for task in tasks
        ]
        self._known: dict[Path, tuple[_Stamp, TaskState]] = {}

    def read(self) -> list[TaskState]:
        """Return where the tasks stand, in their order."""
        return [self._state(*each) for each in self._tasks]

    def _state(self, task: Task, journal: Path, directory: Path) -> TaskState:
        # Taken first: what changes while the task is being read is read anew the next time.
        stamp = (_stamp(journal), _stamp(directory))
        known = self._known.get(journal)
        if known is not None and known[0] == stamp:
            return known[1]
        state = without_details(read_task_state(self._run_directory, task))
        self._known[journal] = (stamp, state)
        return state


def without_details(state: TaskState) -> TaskState:
    """Return the state with bare scores: with 10,000 tasks, details take hundreds of megabytes."""
    history = state.history
    attempts = {number: _bare_attempt(each) for number, each in history.attempts.items()}
    scores = _bare(state.scores)
    first = scores if state.first_scores is state.scores else _bare(state.first_scores)
    return replace(
        state,
        history=replace(history, attempts=attempts),
        scores=scores,
        first_scores=first,
    )


def _bare_attempt(attempt: PastAttempt) -> PastAttempt:
    validation = attempt.validation
    if validation is None:
        return attempt
    bare = validation.model_copy(update={"scores": _bare(validation.scores)})
    return replace(attempt, validation=bare)


def _bare(scores: Mapping[str, MetricScore]) -> dict[str, MetricScore]:
    return {name: score.model_copy(update={"details": {}}) for name, score in scores.items()}


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return (0, 0)
    return (status.st_mtime_ns, status.st_size ^ status.st_ino)
