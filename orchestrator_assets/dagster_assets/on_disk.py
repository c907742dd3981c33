"""What the run directory holds of tasks that a run does not come to: their standing acceptance.

A range run that fails makes a failed partition of every one it did not materialise, though an
accepted conversation may be on disk. So what is there is said again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import dagster as dg

from orchestrator_assets.attempts.history import summarize_attempts
from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.resident import read_result
from orchestrator_assets.attempts.scoring import VALIDATION_METRICS
from orchestrator_assets.dagster_assets._compat import log_check_evaluations, log_events
from orchestrator_assets.dagster_assets.checks import check_evaluations
from orchestrator_assets.dagster_assets.code_versions import version_tags
from orchestrator_assets.dagster_assets.file_links import FileLinks
from orchestrator_assets.dagster_assets.keys import TaskAsset, task_asset_key
from orchestrator_assets.dagster_assets.task_metadata import task_metadata
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.metrics.composites import Composites
from orchestrator_assets.partition_keys import decode_record_id
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.task_state import TaskState, read_task_state

_TRIAL_MARK = ":trial_"


def log_accepted(
    context: dg.OpExecutionContext,
    evaluation: Evaluation,
    keys: Iterable[str],
    assets: Sequence[TaskAsset],
) -> None:
    """Materialise these assets again, as reused, for the keys whose acceptance stands on disk."""
    for outcome in accepted_on_disk(evaluation, keys):
        log_settled(context, evaluation, outcome, assets)


def log_settled(
    context: dg.OpExecutionContext,
    evaluation: Evaluation,
    outcome: TaskOutcome,
    assets: Sequence[TaskAsset],
) -> None:
    """Materialise these assets of a task if it is accepted, and answer their checks in any case."""
    materialised = assets if outcome.accepted else ()
    log_events(
        context, [task_materialization(evaluation, asset, outcome) for asset in materialised]
    )
    log_check_evaluations(context, check_evaluations(evaluation, outcome, assets))


def log_checks(
    context: dg.OpExecutionContext,
    evaluation: Evaluation,
    tasks: Iterable[Task],
    selected: Collection[dg.AssetCheckKey],
) -> None:
    """Answer these checks of tasks from the run directory; nothing is called, judged or scored."""
    run_directory = RunDirectory(evaluation.run_directory)
    for task in tasks:
        outcome = _outcome(run_directory, read_task_state(run_directory, task))
        answers = check_evaluations(evaluation, outcome)
        wanted = [each for each in answers if each.asset_check_key in selected]
        log_check_evaluations(context, wanted)


def task_materialization(
    evaluation: Evaluation, asset: TaskAsset, outcome: TaskOutcome
) -> dg.AssetMaterialization:
    """Return the materialisation of one asset of an accepted task.

    It names its partition: one that does not would make a whole backfill fail.
    """
    return dg.AssetMaterialization(
        task_asset_key(evaluation.name, asset),
        partition=outcome.task.key,
        metadata=task_metadata(
            asset, outcome, FileLinks.of(evaluation), Composites(evaluation.composites)
        ),
        tags=version_tags(evaluation, asset, outcome),
    )


def accepted_on_disk(evaluation: Evaluation, keys: Iterable[str]) -> Iterator[TaskOutcome]:
    """Yield an outcome, marked as reused, for each partition key with an accepted conversation.

    Nothing is judged, nothing compared with the present settings, and the data set is not read:
    it is what an earlier run left. A task whose files are damaged is not accepted.
    """
    run_directory = RunDirectory(evaluation.run_directory)
    for key in keys:
        task = _task_on_disk(run_directory, key)
        if task is None:
            continue
        state = read_task_state(run_directory, task)
        if state.accepted is not None:
            yield _outcome(run_directory, state)


def _task_on_disk(run_directory: RunDirectory, key: str) -> Task | None:
    """Return the task that left a conversation under this key, its record known by id alone."""
    record_key, has_trial, trial = key.partition(_TRIAL_MARK)
    directory = run_directory.records_path / record_key
    if has_trial:
        directory /= f"trial_{trial}"
    result = read_result(directory)
    if result is None:
        return None
    for record_id in (result.record_id, _decoded(record_key)):
        if record_id:
            task = Task(Record(id=record_id), int(trial) if has_trial else None)
            if task.key == key:
                return task
    return None


def _decoded(record_key: str) -> str | None:
    try:
        return decode_record_id(record_key)
    except ValueError:
        return None


def _outcome(run_directory: RunDirectory, state: TaskState) -> TaskOutcome:
    accepted = state.accepted
    return TaskOutcome(
        task=state.task,
        acceptance=None if accepted is None else accepted.acceptance,
        attempts=summarize_attempts(state.history, run_directory, state.task),
        attempts_made=0,
        reused=True,
        accepted_attempt=None if accepted is None else accepted.number,
        directory=state.directory if accepted is not None else None,
        metrics={
            name: score for name, score in state.scores.items() if name not in VALIDATION_METRICS
        },
    )
