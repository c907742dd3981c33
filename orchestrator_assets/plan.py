"""What an invocation would do, worked out from the run directory without doing any of it.

The rules are the attempt loop's own (A2, A5): what is accepted under the present conditions is
reused, what was never judged is judged, all else is called. Judging may bring further calls, and so
may failed attempts, so that the calls, the time and the disk space of a plan are the least.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from orchestrator_assets.attempts.acceptance import time_limit_candidate
from orchestrator_assets.attempts.events import read_events
from orchestrator_assets.attempts.history import PastAttempt, TaskHistory, history_of
from orchestrator_assets.attempts.outcomes import Outcome
from orchestrator_assets.attempts.protocols import AttemptLimits, AttemptMode
from orchestrator_assets.attempts.resident import (
    Resident,
    find_resident,
    read_result,
    standing_acceptance,
)
from orchestrator_assets.attempts.scoring import selection_for
from orchestrator_assets.attempts.tries import end_of_tries, open_tries
from orchestrator_assets.call.conversation import ADOPTED_FINGERPRINT
from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.expected_time import ExpectedTime
from orchestrator_assets.fingerprints import changed_parts
from orchestrator_assets.metrics.registry import code_versions, create_metrics
from orchestrator_assets.metrics.selection import MetricSelection, StaleScore, stale_scores
from orchestrator_assets.records import Task
from orchestrator_assets.store.journal import Journal
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.bare_journal import read_bare_events
from orchestrator_assets.summary.standing_scores import standing_scores

AUDIO_BYTES_PER_SECOND = 3 * 2 * 8_000 + 2 * 16_000
"""Of a call: three tracks at 8 kHz and the clean caller at 16 kHz, PCM16."""


class Step(StrEnum):
    """The first thing an invocation does with a task."""

    CALL = "call"
    JUDGE = "judge"
    ACCEPT = "accept"
    """The verdict is there already, from a run that was killed before it could accept."""
    REUSE = "reuse"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What would happen to one task, and why, in a few words.

    `attempts_before` are its finished attempts. `stale`: it has an accepted or unfinished
    conversation that can't be used, since it is gone or was made under other conditions; `changed`
    names these conditions, if they are known. `metrics` are those to compute; a task to be called
    or judged lacks them all. `stale_scores` are there of a conversation that is reused, computed
    again or not.
    """

    task: Task
    step: Step
    because: str
    attempts_before: int = 0
    stale: bool = False
    changed: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    stale_scores: tuple[StaleScore, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What an invocation would do. Seconds are wall-clock time, bytes those of the audio."""

    mode: AttemptMode
    slots: int
    tasks: tuple[TaskPlan, ...]
    call_seconds: float
    """Of all planned calls, on their own clock."""
    estimated_seconds: float
    """Until the planned calls are over, divided over the slots."""
    disk_free_bytes: int

    def with_step(self, step: Step) -> list[TaskPlan]:
        """Return the tasks that begin with this step, in data-set order."""
        return [each for each in self.tasks if each.step is step]

    @property
    def first_calls(self) -> int:
        """How many tasks are called that never were."""
        return sum(each.attempts_before == 0 for each in self.with_step(Step.CALL))

    @property
    def calls_again(self) -> int:
        """How many tasks are called that were before."""
        return len(self.with_step(Step.CALL)) - self.first_calls

    @property
    def calls(self) -> int:
        """How many tasks are called straight away."""
        return len(self.with_step(Step.CALL))

    @property
    def stale(self) -> list[TaskPlan]:
        """The tasks whose conversation can't be used, in data-set order."""
        return [each for each in self.tasks if each.stale]

    @property
    def metrics(self) -> dict[str, int]:
        """How many conversations each metric is computed on, by name."""
        return dict(Counter(name for each in self.tasks for name in each.metrics))

    @property
    def stale_scores(self) -> dict[StaleScore, int]:
        """On how many conversations each score is of another version than the code."""
        return dict(Counter(score for each in self.tasks for score in each.stale_scores))

    @property
    def disk_needed_bytes(self) -> int:
        """How much audio the planned calls record."""
        return round(self.call_seconds * AUDIO_BYTES_PER_SECOND)


def plan(
    evaluation: Evaluation,
    tasks: Iterable[Task],
    mode: AttemptMode = AttemptMode.CALL,
    metric_selection: MetricSelection | None = None,
) -> Plan:
    """Return what an invocation would do with the tasks.

    Calls nobody, starts nothing and writes nothing. A task with a damaged journal is planned as
    one nothing can be done with.
    """
    planner = _Planner(evaluation, mode, metric_selection or selection_for(mode))
    chosen = tuple(planner.task_plan(task) for task in tasks)
    to_call = [each.task for each in chosen if each.step is Step.CALL]
    return Plan(
        mode=mode,
        slots=evaluation.max_concurrent_conversations,
        tasks=chosen,
        call_seconds=sum(planner.expected.call_seconds(task) for task in to_call),
        estimated_seconds=planner.expected.run_seconds(to_call),
        disk_free_bytes=free_bytes(evaluation.run_directory),
    )


def free_bytes(directory: Path) -> int:
    """Return what is free on the disk where the directory is or would be."""
    return shutil.disk_usage(existing_part(directory)).free


def existing_part(directory: Path) -> Path:
    """Return the directory, or the nearest one above it that exists."""
    return next(each for each in (directory, *directory.parents) if each.is_dir())


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a task."""

    task: Task
    history: TaskHistory
    resident: Resident | None
    fingerprint: str
    has_archive: Callable[[int], bool]

    @property
    def past(self) -> PastAttempt | None:
        return None if self.resident is None else self.history.attempts.get(self.resident.number)

    @property
    def is_accepted(self) -> bool:
        return standing_acceptance(self.history, self.resident) is not None

    @property
    def made_under(self) -> str | None:
        """The fingerprint of the conversation that is there, the present one if it was adopted."""
        recorded = self.past.fingerprint if self.past is not None else None
        if recorded is None and self.resident is not None and self.resident.result is not None:
            recorded = self.resident.result.fingerprint
        return self.fingerprint if recorded == ADOPTED_FINGERPRINT else recorded

    @property
    def comparable(self) -> list[PastAttempt]:
        """The attempts made under the present conditions."""
        present = (self.fingerprint, ADOPTED_FINGERPRINT)
        return [each for each in self.history.finished if each.fingerprint in present]


class _Planner:
    def __init__(
        self, evaluation: Evaluation, mode: AttemptMode, metric_selection: MetricSelection
    ) -> None:
        self._evaluation = evaluation
        self._mode = mode
        self._versions = code_versions(create_metrics(evaluation.metrics))
        self._metric_selection = metric_selection
        self._run_directory = RunDirectory(evaluation.run_directory)
        self._limits = AttemptLimits(
            max_attempts=evaluation.max_attempts,
            max_time_limit_attempts=evaluation.max_time_limit_attempts,
            max_concurrent_conversations=evaluation.max_concurrent_conversations,
            retry_on=evaluation.retry_on,
        )
        self.expected = ExpectedTime(evaluation)

    def task_plan(self, task: Task) -> TaskPlan:
        try:
            facts = self._facts(task)
        except RunDirectoryError as error:
            return TaskPlan(task, Step.NOTHING, f"its journal is damaged: {error}")
        self.expected.learn(task, facts.history.finished)
        if self._mode is AttemptMode.METRICS_ONLY:
            if facts.is_accepted:
                return self._planned(facts, Step.REUSE, "only metrics are asked for")
            return self._planned(facts, Step.NOTHING, "there is no accepted conversation")
        if self._mode is AttemptMode.VALIDATE_ONLY or self._limits.max_attempts == 0:
            return self._without_calls(facts)
        if self._mode is AttemptMode.FORCE:
            return self._planned(facts, Step.CALL, "a new call is asked for")
        return self._with_calls(facts)

    def _facts(self, task: Task) -> _Facts:
        run_directory = self._run_directory
        history = self._history(run_directory.journal(task))
        return _Facts(
            task,
            history,
            find_resident(run_directory, task, history),
            self._evaluation.call_fingerprint(task.record),
            lambda number: read_result(run_directory.archive_directory(task, number)) is not None,
        )

    @staticmethod
    def _history(journal: Journal) -> TaskHistory:
        try:
            history = history_of(read_bare_events(journal))
        except NotADirectoryError:
            # A file is where the run directory should be, which is for the preflight to say.
            return TaskHistory()
        limited = Outcome.TIME_LIMIT_EXCEEDED
        if any(attempt.outcome is limited for attempt in history.finished):
            # Only among these does the evidence decide which one is accepted.
            return history_of(read_events(journal))
        return history

    def _without_calls(self, facts: _Facts) -> TaskPlan:
        if facts.resident is None or not facts.resident.ended:
            return self._planned(facts, Step.NOTHING, "there is no conversation to judge")
        if facts.is_accepted and self._mode is not AttemptMode.VALIDATE_ONLY:
            return self._planned(facts, Step.REUSE, "accepted")
        return self._planned(facts, Step.JUDGE, "nobody is called, what is there is judged")

    def _with_calls(self, facts: _Facts) -> TaskPlan:
        resident, past = facts.resident, facts.past
        if resident is not None and facts.made_under != facts.fingerprint:
            return self._made_otherwise(facts)
        if facts.is_accepted:
            return self._planned(facts, Step.REUSE, "accepted")
        if resident is not None and resident.ended:
            if past is None or past.needs_judging:
                return self._planned(facts, Step.JUDGE, "its conversation was never judged")
            if past.outcome is Outcome.PASSED:
                return self._planned(facts, Step.ACCEPT, "its conversation was found valid")
        candidate = time_limit_candidate(
            facts.comparable,
            max_time_limit_attempts=self._limits.max_time_limit_attempts,
            current=None if resident is None else resident.number,
            is_there=facts.has_archive,
        )
        if candidate is not None:
            return self._planned(facts, Step.ACCEPT, f"by the time limit, attempt {candidate}")
        return self._call(facts)

    def _made_otherwise(self, facts: _Facts) -> TaskPlan:
        changed = changed_parts(facts.made_under or "", facts.fingerprint)
        because = f"changed: {', '.join(changed)}" if changed else "record or settings changed"
        return self._planned(facts, Step.CALL, because, stale=True, changed=changed)

    def _call(self, facts: _Facts) -> TaskPlan:
        history = facts.history
        if history.accepted is not None:
            because = "its accepted conversation is missing"
            return self._planned(facts, Step.CALL, because, stale=True)
        attempts = facts.comparable
        end = end_of_tries(
            open_tries(
                attempts, settled_number=history.settled_number, fingerprint=facts.fingerprint
            ),
            self._limits,
            time_limited=sum(each.outcome is Outcome.TIME_LIMIT_EXCEEDED for each in attempts),
        )
        if end is not None:
            return self._planned(facts, Step.NOTHING, end.reason)
        last = history.last
        if last is None:
            because = "never called"
        elif last.interrupted:
            because = f"attempt {last.number} was interrupted"
        else:
            because = f"attempt {last.number} {last.outcome}: {last.reason}"
        return self._planned(facts, Step.CALL, because)

    def _planned(
        self,
        facts: _Facts,
        step: Step,
        because: str,
        *,
        stale: bool = False,
        changed: tuple[str, ...] = (),
    ) -> TaskPlan:
        computed, stale_ones = self._scores(facts, step)
        return TaskPlan(
            task=facts.task,
            step=step,
            because=because,
            attempts_before=len(facts.history.finished),
            stale=stale,
            changed=changed,
            metrics=tuple(computed),
            stale_scores=tuple(stale_ones),
        )

    def _scores(self, facts: _Facts, step: Step) -> tuple[list[str], list[StaleScore]]:
        """Return which metrics are computed, and which of the scores that stay there are stale."""
        versions, selection = self._versions, self._metric_selection
        if step is Step.REUSE:
            stored = standing_scores(self._run_directory.task_directory(facts.task))
            return selection.of(versions, stored), stale_scores(versions, stored)
        if step is Step.NOTHING or self._mode is AttemptMode.VALIDATE_ONLY:
            return [], []
        return selection.of(versions, {}), []
