"""How an evaluation stands right now, from its journals and locks: quick, and while it runs.

The summary reads every file of every conversation; this reads the journals, without the evidence in
them, and otherwise only looks whether an accepted conversation is still there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from orchestrator_assets.attempts.history import TaskHistory, history_of
from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.call.conversation import RESULT_FILE
from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.store.runs import Invocation, read_runs
from orchestrator_assets.summary.bare_journal import read_bare_events
from orchestrator_assets.summary.lock_holders import LockHolder, living_holders
from orchestrator_assets.summary.task_state import has_failed


class Standing(StrEnum):
    """Every task has exactly one of these, so they add up to the total."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    """A living run holds its lock: it calls, judges, or is about to."""


@dataclass(frozen=True, slots=True)
class TaskStanding:
    """One task. `reason` says why it is not accepted, or what is being done with it.

    `since` and `run_id` are there for a task in progress: of its live call, else of its lock.
    """

    task: Task
    standing: Standing
    history: TaskHistory
    acceptance: Acceptance | None = None
    reason: str = ""
    since: datetime | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluationStatus:
    """All tasks in data-set order, and the last invocation if there was one."""

    tasks: tuple[TaskStanding, ...]
    last_run: Invocation | None
    last_run_is_going_on: bool

    def count(self, standing: Standing) -> int:
        """Return how many tasks stand so."""
        return sum(each.standing is standing for each in self.tasks)

    def accepted_by(self, acceptance: Acceptance) -> int:
        """Return how many tasks are accepted for this reason."""
        return sum(each.acceptance is acceptance for each in self.tasks)

    @property
    def not_accepted(self) -> list[TaskStanding]:
        """The tasks that are not accepted: those in progress, then failed ones, then the rest."""
        order = [Standing.IN_PROGRESS, Standing.FAILED, Standing.PENDING]
        rest = [each for each in self.tasks if each.standing in order]
        return sorted(rest, key=lambda each: order.index(each.standing))

    @property
    def attempts_by_outcome(self) -> dict[Outcome, int]:
        """How many finished attempts ended so, over all invocations."""
        return _counted(Outcome, (attempt.outcome or Outcome.UNJUDGED for attempt in self._all()))

    @property
    def attempts_by_cause(self) -> dict[Cause, int]:
        """How many finished attempts each cause is to blame for."""
        return _counted(Cause, (attempt.cause for attempt in self._all()))

    def _all(self) -> Any:
        return (attempt for each in self.tasks for attempt in each.history.finished)


def read_status(run_directory: RunDirectory, tasks: Sequence[Task]) -> EvaluationStatus:
    """Return how the tasks stand. Raises RunDirectoryError if runs.jsonl is damaged."""
    holders = living_holders(run_directory.locks_path)
    runs = read_runs(run_directory)
    last = runs[-1] if runs else None
    going_on = last is not None and any(each.run_id == last.run_id for each in holders.values())
    standings = tuple(_standing(run_directory, task, holders) for task in tasks)
    return EvaluationStatus(standings, last, going_on)


def status_json(name: str, run_directory: RunDirectory, status: EvaluationStatus) -> dict[str, Any]:
    """Return the status as JSON, of which each task that is not accepted is a part."""
    last = status.last_run
    return {
        "evaluation": name,
        "run_directory": str(run_directory.root),
        "tasks": len(status.tasks),
        **{standing.value: status.count(standing) for standing in Standing},
        "accepted_by": {each.value: status.accepted_by(each) for each in Acceptance},
        "attempts_by_outcome": status.attempts_by_outcome,
        "attempts_by_cause": status.attempts_by_cause,
        "last_run": None
        if last is None
        else {
            "id": last.run_id,
            "started_at": last.started_at.isoformat(),
            "ended_at": None if last.ended_at is None else last.ended_at.isoformat(),
            "going_on": status.last_run_is_going_on,
        },
        "not_accepted": [_task_json(each) for each in status.not_accepted],
    }


def _task_json(each: TaskStanding) -> dict[str, Any]:
    last = each.history.finished[-1] if each.history.finished else None
    return {
        "task": each.task.id,
        "key": each.task.key,
        "standing": each.standing.value,
        "attempts": len(each.history.finished),
        "last_outcome": None if last is None else last.outcome,
        "last_cause": None if last is None else last.cause,
        "reason": each.reason,
        "since": None if each.since is None else each.since.isoformat(),
        "run_id": each.run_id,
    }


def _standing(
    run_directory: RunDirectory, task: Task, holders: Mapping[str, LockHolder]
) -> TaskStanding:
    holder = holders.get(task.key)
    try:
        history = history_of(read_bare_events(run_directory.journal(task)))
    except RunDirectoryError as error:
        reason = f"its journal is damaged: {error}"
        return TaskStanding(task, Standing.PENDING, TaskHistory(), reason=reason)
    if holder is not None:
        return _in_progress(task, history, holder)
    if history.accepted is not None:
        if not (run_directory.task_directory(task) / RESULT_FILE).is_file():
            reason = "its accepted conversation is missing"
            return TaskStanding(task, Standing.PENDING, history, reason=reason)
        acceptance = history.accepted.acceptance
        return TaskStanding(task, Standing.ACCEPTED, history, acceptance)
    standing = Standing.FAILED if has_failed(history) else Standing.PENDING
    return TaskStanding(task, standing, history, reason=_reason(history))


def _in_progress(task: Task, history: TaskHistory, holder: LockHolder) -> TaskStanding:
    last = history.last
    reason, since = "before its next step", holder.since
    if last is not None and last.interrupted and last.run_id == holder.run_id:
        reason, since = f"attempt {last.number} is live", last.started_at or since
    elif last is not None and last.outcome is None and not last.interrupted:
        reason, since = f"attempt {last.number} is being judged", last.ended_at or since
    return TaskStanding(
        task, Standing.IN_PROGRESS, history, reason=reason, since=since, run_id=holder.run_id
    )


def _reason(history: TaskHistory) -> str:
    last = history.last
    if last is None:
        return "never called"
    if last.interrupted:
        return f"attempt {last.number} was interrupted"
    if last.outcome is None:
        return f"attempt {last.number} was never judged"
    return last.reason


def _counted(kinds: Any, found: Any) -> dict[Any, int]:
    counts = Counter(found)
    return {kind: counts[kind] for kind in kinds}
