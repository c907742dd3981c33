"""`evaluation_summary.json`: EVA's schema, and ours beside it (S6).

One function writes it for first runs, reruns and re-aggregation alike, from the run directory
alone, so that a resumed run's summary equals the uninterrupted one's but for times and ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from orchestrator_assets.attempts.history import PastAttempt
from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.store.runs import Invocation, active_seconds
from orchestrator_assets.summary.economics import economics
from orchestrator_assets.summary.task_state import TaskState, TaskStatus

_NEVER_FINISHED = {Outcome.NOT_FINISHED, Outcome.TIME_LIMIT_EXCEEDED}


def evaluation_summary(states: Sequence[TaskState], runs: Sequence[Invocation]) -> dict[str, Any]:
    """Return the summary of all tasks, in data-set order.

    `duration_seconds` is the time at least one invocation was at work; from `started_at` to
    `ended_at` pauses between them count too. Interrupted attempts count nowhere but in
    `attempts.interrupted`.
    """
    failed = _with_status(states, TaskStatus.FAILED)
    history = {
        state.task.id: [_entry(attempt) for attempt in state.failures]
        for state in states
        if state.failures
    }
    return {
        "started_at": _iso(min((run.started_at for run in runs), default=None)),
        "ended_at": _iso(_last_sign_of_life(states, runs)),
        "duration_seconds": round(active_seconds(runs), 3),
        "simulation": _simulation(states, failed),
        "rerun_history": history,
        "final_failures": {state.task.id: history[state.task.id][-1] for state in failed},
        "attempts": _attempts(states),
        "pending_record_ids": _ids(_with_status(states, TaskStatus.PENDING)),
        "runs": [
            {
                "id": run.run_id,
                "started_at": _iso(run.started_at),
                "ended_at": _iso(run.ended_at),
            }
            for run in runs
        ],
    }


def _simulation(states: Sequence[TaskState], failed: Sequence[TaskState]) -> dict[str, Any]:
    accepted = _with_status(states, TaskStatus.ACCEPTED)
    not_finished = sum(state.failures[-1].outcome in _NEVER_FINISHED for state in failed)
    generic_errors = [state for state in states if state.generic_error]
    return {
        "total_records": len(states),
        "successful_records": len(accepted),
        "failed_records": len(failed),
        "not_finished_count": not_finished,
        "validation_failed_count": len(failed) - not_finished,
        "records_with_llm_generic_error": len(generic_errors),
        "llm_generic_error_record_ids": _ids(generic_errors),
        "failed_record_ids": _ids(failed),
        "successful_record_ids": _ids(accepted),
        "time_limit_accepted_record_ids": _ids(
            state
            for state in accepted
            if state.accepted is not None and state.accepted.acceptance is Acceptance.TIME_LIMIT
        ),
    }


def _entry(attempt: PastAttempt) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "attempt": attempt.number,
        "reason": (attempt.outcome or Outcome.UNJUDGED).value,
    }
    validation = attempt.validation
    if validation is not None and (validation.failed_metrics or validation.errored_metrics):
        entry["failed_metrics"] = [*validation.failed_metrics, *validation.errored_metrics]
        entry["scores"] = {name: score.score for name, score in validation.scores.items()}
        entry["failure_details"] = validation.failure_details
    if attempt.stopped_early is not None:
        entry["stopped_early"] = attempt.stopped_early
    return entry


def _attempts(states: Sequence[TaskState]) -> dict[str, Any]:
    attempts = [attempt for state in states for attempt in state.history.finished]
    outcomes = Counter(attempt.outcome or Outcome.UNJUDGED for attempt in attempts)
    causes = Counter(attempt.cause for attempt in attempts)
    return {
        "total": len(attempts),
        "per_task": {state.task.id: len(state.history.finished) for state in states},
        "by_outcome": {outcome.value: outcomes[outcome] for outcome in Outcome},
        "by_cause": {cause.value: causes[cause] for cause in Cause},
        "seconds_spent_on_invalid": round(
            sum(attempt.duration_seconds for state in states for attempt in state.invalid), 3
        ),
        "interrupted": sum(
            attempt.interrupted for state in states for attempt in state.history.attempts.values()
        ),
        "economics": economics(states),
    }


def _last_sign_of_life(states: Sequence[TaskState], runs: Sequence[Invocation]) -> datetime | None:
    ends = [run.ended_at for run in runs]
    if None in ends:
        # Killed or still going on: the last call that ended is the best that is known.
        ends += [attempt.ended_at for state in states for attempt in state.history.finished]
    return max((end for end in ends if end is not None), default=None)


def _with_status(states: Sequence[TaskState], status: TaskStatus) -> list[TaskState]:
    return [state for state in states if state.status is status]


def _ids(states: Any) -> list[str]:
    return [state.task.id for state in states]


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
