"""Requests for runs of chosen tasks, by sensors and schedules."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

from orchestrator_assets.dagster_assets._compat import Job
from orchestrator_assets.dagster_assets.jobs import EvaluationJob, job_name, job_op_name
from orchestrator_assets.dagster_assets.keys import task_asset_keys
from orchestrator_assets.dagster_assets.partitions import range_among

_UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]
_SHOWN = 10


def range_job_name(evaluation_name: str) -> str:
    """Return the name of the job that materialises a range of partitions."""
    return f"{evaluation_name}_run_partitions"


def build_range_job(evaluation_name: str) -> Job:
    """Return the job for runs of partitions that lie side by side."""
    return dg.define_asset_job(
        range_job_name(evaluation_name),
        selection=dg.AssetSelection.assets(*task_asset_keys(evaluation_name)),
        executor_def=dg.in_process_executor,
        description=f"Works on the partitions of {evaluation_name} that are chosen at launch.",
    )


def request_run(
    evaluation_name: str, order: Sequence[str], keys: Sequence[str], run_key: str
) -> dg.RunRequest:
    """Return a request for one run of these tasks: a range if they lie side by side in `order`."""
    partition_range = range_among(order, keys)
    if partition_range is None:
        return request_job_run(evaluation_name, EvaluationJob.RUN_EVALUATION, keys, run_key)
    return dg.RunRequest(
        run_key=run_key,
        job_name=range_job_name(evaluation_name),
        tags=dict(partition_range.tags),
    )


def request_job_run(
    evaluation_name: str,
    job: EvaluationJob,
    keys: Sequence[str],
    run_key: str,
    *,
    settings: Mapping[str, object] | None = None,
) -> dg.RunRequest:
    """Return a request for a run of a job that takes the tasks from its config."""
    config = {"task_keys": list(keys), **(settings or {})}
    return dg.RunRequest(
        run_key=run_key,
        job_name=job_name(evaluation_name, job),
        run_config={"ops": {job_op_name(evaluation_name, job): {"config": config}}},
    )


def stable_hash(*parts: object) -> str:
    """Return the head of the SHA-256 of JSON values, for run keys: the same wherever it is made."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def unfinished_run(instance: DagsterInstance, evaluation_name: str) -> str | None:
    """Return the id of a run of the evaluation that is queued or going on, None if there is none.

    Whatever launched it: a sensor, the UI, a backfill or the command line.
    """
    jobs = {job_name(evaluation_name, job) for job in EvaluationJob}
    jobs |= {range_job_name(evaluation_name)}
    assets = set(task_asset_keys(evaluation_name))
    for run in instance.get_runs(RunsFilter(statuses=_UNFINISHED)):
        if run.job_name in jobs or assets & (run.asset_selection or set()):
            return run.run_id
    return None


def shown_keys(keys: Iterable[str]) -> str:
    """Return keys for people: all of a few, the first of many."""
    names = list(keys)
    left_out = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + left_out
