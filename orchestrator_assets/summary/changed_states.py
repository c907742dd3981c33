"""Where all tasks stand, read again and again: only what has changed is read anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator_assets.call.conversation import METRICS_FILE, RESULT_FILE, TRANSCRIPT_FILE
from orchestrator_assets.metrics.composites import Composites
from orchestrator_assets.records import Task
from orchestrator_assets.store.reading_ahead import reading_ahead
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.task_state import TaskState, read_task_state

_Stamp = tuple[tuple[int, int], tuple[int, int]]


class ChangedStates:
    """Keeps the states of tasks, without the details of their scores, which summaries leave out.

    A task is read anew when its journal or its directory is not what it was. What is moved in
    between archives alone goes unnoticed; nothing of ours does that.
    """

    def __init__(
        self,
        run_directory: RunDirectory,
        tasks: Sequence[Task],
        composites: Composites | None = None,
    ) -> None:
        self._run_directory = run_directory
        self._composites = composites
        self._tasks = [
            (task, run_directory.journal(task).path, run_directory.task_directory(task))
            for task in tasks
        ]
        self._known: dict[Path, tuple[_Stamp, TaskState]] = {}

    def read(self) -> list[TaskState]:
        """Return where the tasks stand, in their order."""
        if self._known:
            return [self._state(*each) for each in self._tasks]
        with reading_ahead(self._files()):
            return [self._state(*each) for each in self._tasks]

    def _files(self) -> Iterator[str]:
        for _, journal, directory in self._tasks:
            yield str(journal)
            for name in (RESULT_FILE, METRICS_FILE, TRANSCRIPT_FILE):
                yield f"{directory}/{name}"

    def _state(self, task: Task, journal: Path, directory: Path) -> TaskState:
        # Taken first: what changes while the task is being read is read anew the next time.
        stamp = (_stamp(journal), _stamp(directory))
        known = self._known.get(journal)
        if known is not None and known[0] == stamp:
            return known[1]
        state = read_task_state(self._run_directory, task, self._composites, details=False)
        self._known[journal] = (stamp, state)
        return state


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return (0, 0)
    return (status.st_mtime_ns, status.st_size ^ status.st_ino)
