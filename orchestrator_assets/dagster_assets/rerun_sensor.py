"""The sensor that tries failed tasks again some time after a run. Off until somebody turns it on.

What has failed, and why, is read from the journals, not from Dagster. The cursor counts the reruns
this sensor gave each task under its present conditions; a task that is accepted, or whose record
changes, is counted anew. Run keys are made of the cursor, so a tick that is repeated, or made by
two daemons at once, asks for the same run again and Dagster starts it once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from orchestrator_assets.dagster_assets._compat import Job
from orchestrator_assets.dagster_assets.jobs import EvaluationJob
from orchestrator_assets.dagster_assets.run_requests import (
    request_job_run,
    shown_keys,
    stable_hash,
    unfinished_run,
)
from orchestrator_assets.dagster_settings import AutomaticReruns
from orchestrator_assets.errors import ConfigurationError, RunDirectoryError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.store.runs import read_runs
from orchestrator_assets.summary.task_state import TaskState, TaskStatus, read_task_state

_INTERVAL_SECONDS = 60


def _now() -> datetime:
    return datetime.now(UTC)


def build_rerun_sensor(
    evaluation: Evaluation, jobs: Sequence[Job], *, now: Callable[[], datetime] = _now
) -> dg.SensorDefinition:
    """Return the sensor; `jobs` are those it requests runs of, `now` tells the time."""
    limits = evaluation.dagster.reruns

    @dg.sensor(
        name=f"{evaluation.name}_rerun_failed_records",
        minimum_interval_seconds=_INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        jobs=jobs,
        description=(
            f"Tries the failed tasks of {evaluation.name} again {limits.wait_seconds:g} s after "
            f"its last run, each up to {limits.max_reruns} times; not those whose last "
            f"{limits.same_cause_limit} failures have the same cause."
        ),
    )
    def rerun_failed_records(
        context: dg.SensorEvaluationContext,
    ) -> dg.SensorResult | dg.SkipReason:
        cursor = _Cursor.read(context.cursor)
        try:
            reason = _reason_to_wait(evaluation, context, cursor, now())
            if reason is not None:
                return dg.SkipReason(reason)
            failed = _failed(evaluation)
        except (ConfigurationError, RunDirectoryError) as error:
            return dg.SkipReason(f"nothing is done until this is mended: {error}")
        return _result(evaluation, cursor, failed, now())

    return rerun_failed_records


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The reruns given, by task and conditions, and when the last one was asked for."""

    given: dict[str, int]
    requested_at: datetime | None = None

    @classmethod
    def read(cls, text: str | None) -> _Cursor:
        try:
            values = json.loads(text or "{}")
            at = values.get("requested_at")
            return cls(dict(values["given"]), None if at is None else datetime.fromisoformat(at))
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls({})

    def __str__(self) -> str:
        at = None if self.requested_at is None else self.requested_at.isoformat()
        return json.dumps({"given": self.given, "requested_at": at}, sort_keys=True)


def _reason_to_wait(
    evaluation: Evaluation, context: dg.SensorEvaluationContext, cursor: _Cursor, now: datetime
) -> str | None:
    going_on = unfinished_run(context.instance, evaluation.name)
    if going_on is not None:
        return f"run {going_on[:8]} of {evaluation.name} is going on"
    runs = read_runs(RunDirectory(evaluation.run_directory))
    if not runs:
        return f"{evaluation.name} has not been run yet"
    times = [run.ended_at or run.started_at for run in runs]
    if cursor.requested_at is not None:
        times.append(cursor.requested_at)
    rest = max(times) + timedelta(seconds=evaluation.dagster.reruns.wait_seconds) - now
    if rest > timedelta(0):
        return f"the last run was not long ago; waiting another {rest.total_seconds():.0f} s"
    return None


def _failed(evaluation: Evaluation) -> list[TaskState]:
    run_directory = RunDirectory(evaluation.run_directory)
    states = (read_task_state(run_directory, task) for task in evaluation.load_tasks())
    return [state for state in states if state.status is TaskStatus.FAILED]


def _result(
    evaluation: Evaluation, cursor: _Cursor, failed: Sequence[TaskState], now: datetime
) -> dg.SensorResult:
    limits = evaluation.dagster.reruns
    refusals = {state.task.key: _refusal(evaluation, state, cursor, limits) for state in failed}
    keys = [key for key, refusal in refusals.items() if refusal is None]
    # Tasks that are no longer failed are forgotten, so the cursor stays small.
    given = {
        each: cursor.given[each]
        for state in failed
        if (each := _conditions(evaluation, state)) in cursor.given
    }
    if not keys:
        kept = _Cursor(given, cursor.requested_at)
        return dg.SensorResult(skip_reason=_left_alone(evaluation, refusals), cursor=str(kept))
    for state in failed:
        if state.task.key in keys:
            each = _conditions(evaluation, state)
            given[each] = given.get(each, 0) + 1
    run_key = f"{evaluation.name}:rerun:{stable_hash(str(cursor), keys)}"
    return dg.SensorResult(
        run_requests=[request_job_run(evaluation.name, EvaluationJob.RERUN_FAILED, keys, run_key)],
        cursor=str(_Cursor(given, now)),
    )


def _refusal(
    evaluation: Evaluation, state: TaskState, cursor: _Cursor, limits: AutomaticReruns
) -> str | None:
    """Return why the task is left to people, None if it is tried again."""
    given = cursor.given.get(_conditions(evaluation, state), 0)
    if given >= limits.max_reruns:
        return f"rerun {given} times"
    causes = [attempt.cause for attempt in state.failures[-limits.same_cause_limit :]]
    if len(causes) == limits.same_cause_limit and len(set(causes)) == 1:
        cause = causes[0].value if causes[0] is not None else "unknown"
        return f"failed {len(causes)} times in a row by the same cause ({cause})"
    return None


def _conditions(evaluation: Evaluation, state: TaskState) -> str:
    """Return the task and all that shapes its calls: with other conditions it counts anew."""
    return f"{state.task.key} {stable_hash(evaluation.call_fingerprint(state.task.record))[:8]}"


def _left_alone(evaluation: Evaluation, refusals: dict[str, str | None]) -> dg.SkipReason:
    if not refusals:
        return dg.SkipReason(f"no task of {evaluation.name} has failed")
    reasons = Counter(refusals.values())
    parts = [
        f"{reason}: {shown_keys(key for key, why in refusals.items() if why == reason)}"
        for reason in reasons
    ]
    return dg.SkipReason(f"{len(refusals)} failed tasks are left to people; " + "; ".join(parts))
