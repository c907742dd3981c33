"""Which tasks a run works on: those of its partitions, those its config names, or a job's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster import DagsterInstance

from orchestrator_assets.dagster_assets._compat import failed_partition_keys
from orchestrator_assets.dagster_assets.config import TaskChoice
from orchestrator_assets.dagster_assets.keys import task_asset_keys
from orchestrator_assets.dagster_assets.on_disk import accepted_on_disk
from orchestrator_assets.dagster_assets.partitions import (
    partitions_name,
    register_partitions,
    task_partitions,
)
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.records import Task

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ChosenTasks:
    """The tasks to work on, in data-set order, and the keys whose records are gone."""

    tasks: tuple[Task, ...]
    retired: tuple[str, ...] = ()

    def note(self, evaluation: Evaluation) -> str | None:
        """Return what to say of the keys that are skipped."""
        if not self.retired:
            return None
        return (
            f"{len(self.retired)} of {len(self.retired) + len(self.tasks)} partitions are retired, "
            f"and left as they are: {_shown(self.retired)}. They have no task in "
            f"{_source(evaluation)} any more"
        )


DefaultKeys = Callable[[DagsterInstance, Evaluation], Sequence[str]]
"""The keys a run works on if it names none. Raises dagster.Failure if there are none."""


def choose_tasks(
    instance: DagsterInstance, evaluation: Evaluation, choice: TaskChoice, default: DefaultKeys
) -> ChosenTasks:
    """Return the tasks of a run without partitions, after registering those that are new.

    Raises dagster.Failure for an empty choice, and for keys and ids that nobody knows.
    """
    tasks = evaluation.load_tasks()
    register_partitions(instance, evaluation.name, [task.key for task in tasks])
    if choice.record_ids is not None and choice.task_keys is not None:
        raise dg.Failure(
            "`task_keys` and `record_ids` both say what to work on; drop one of them",
            allow_retries=False,
        )
    if choice.record_ids is not None:
        return ChosenTasks(_tasks_of_records(evaluation, tasks, choice.record_ids))
    keys = default(instance, evaluation) if choice.task_keys is None else choice.task_keys
    return tasks_of_keys(instance, evaluation, keys, tasks)


def refuse_choice(choice: TaskChoice) -> None:
    """Raise dagster.Failure if the config names tasks: the run's partitions do that already."""
    for name in ("task_keys", "record_ids"):
        if getattr(choice, name) is not None:
            raise dg.Failure(
                f"`{name}` is for runs without partitions, but this run has some; drop one of them",
                allow_retries=False,
            )


def tasks_of_keys(
    instance: DagsterInstance,
    evaluation: Evaluation,
    keys: Iterable[str],
    tasks: Sequence[Task] | None = None,
) -> ChosenTasks:
    """Return the tasks of these partition keys.

    Keys that are registered, but whose records were taken out of the data set, are retired. Raises
    dagster.Failure for no key at all, for retired ones only, and for keys that nobody knows.
    """
    wanted = dict.fromkeys(keys)
    if not wanted:
        raise dg.Failure(
            f"there is nothing to do for {evaluation.name!r}: no task was named; launch the run "
            "with a partition or a range, or give `task_keys` or `record_ids`",
            allow_retries=False,
        )
    by_key = {task.key: task for task in (tasks or evaluation.load_tasks())}
    without_task = [key for key in wanted if key not in by_key]
    registered = set(instance.get_dynamic_partitions(partitions_name(evaluation.name)))
    _refuse_unknown(
        "partitions",
        [key for key in without_task if key not in registered],
        len(wanted),
        evaluation,
    )
    if len(without_task) == len(wanted):
        raise dg.Failure(
            f"there is nothing to do: all {len(wanted)} partitions of this run are retired: "
            f"{_shown(without_task)}. They have no task in {_source(evaluation)} any more; put "
            "their records back, or choose other partitions",
            metadata={"retired_keys": dg.MetadataValue.json(without_task)},
            allow_retries=False,
        )
    chosen = tuple(task for key, task in by_key.items() if key in wanted)
    return ChosenTasks(chosen, tuple(without_task))


def _tasks_of_records(
    evaluation: Evaluation, tasks: Sequence[Task], record_ids: Iterable[str]
) -> tuple[Task, ...]:
    wanted = dict.fromkeys(record_ids)
    if not wanted:
        raise dg.Failure(
            f"there is nothing to do for {evaluation.name!r}: `record_ids` is empty",
            allow_retries=False,
        )
    known = {task.record.id for task in tasks}
    unknown = [record_id for record_id in wanted if record_id not in known]
    _refuse_unknown("record_ids", unknown, len(wanted), evaluation)
    return tuple(task for task in tasks if task.record.id in wanted)


def _refuse_unknown(what: str, unknown: Sequence[str], count: int, evaluation: Evaluation) -> None:
    if unknown:
        raise dg.Failure(
            f"{len(unknown)} of {count} {what} have no task in {_source(evaluation)}: "
            f"{_shown(unknown)}. Correct them, or leave them out",
            metadata={"unknown": dg.MetadataValue.json(list(unknown))},
            allow_retries=False,
        )


def _source(evaluation: Evaluation) -> str:
    narrowed = evaluation.debug or evaluation.record_ids is not None
    by = " as narrowed by the evaluation's `record_ids` and `debug`" if narrowed else ""
    return f"{evaluation.data_set}{by}"


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def all_keys(_instance: DagsterInstance, evaluation: Evaluation) -> list[str]:
    """Return the keys of all tasks of the data set as it is now."""
    return [task.key for task in evaluation.load_tasks()]


def failed_keys(instance: DagsterInstance, evaluation: Evaluation) -> list[str]:
    """Return the partitions of which any asset failed, in order."""
    partitions = task_partitions(evaluation.name)
    failed: set[str] = set()
    for asset_key in task_asset_keys(evaluation.name):
        failed |= failed_partition_keys(instance, asset_key, partitions)
    if not failed:
        raise dg.Failure(
            f"there is nothing to do for {evaluation.name!r}: no partition was selected, and none "
            "has failed. Launch the run with a partition or a range, or give `task_keys`",
            allow_retries=False,
        )
    order = instance.get_dynamic_partitions(partitions_name(evaluation.name))
    return [key for key in order if key in failed]


def failed_and_missing_keys(instance: DagsterInstance, evaluation: Evaluation) -> list[str]:
    """Return the partitions of which any asset failed, and the tasks that lack any asset."""
    partitions = task_partitions(evaluation.name)
    settled = set(all_keys(instance, evaluation))
    for asset_key in task_asset_keys(evaluation.name):
        settled &= instance.get_materialized_partitions(asset_key)
        settled -= failed_partition_keys(instance, asset_key, partitions)
    unsettled = [key for key in all_keys(instance, evaluation) if key not in settled]
    if not unsettled:
        raise dg.Failure(
            f"there is nothing to do for {evaluation.name!r}: no task has failed, none is missing",
            allow_retries=False,
        )
    return unsettled


def accepted_keys(instance: DagsterInstance, evaluation: Evaluation) -> list[str]:
    """Return the tasks that have an accepted conversation on disk."""
    keys = all_keys(instance, evaluation)
    accepted = [outcome.task.key for outcome in accepted_on_disk(evaluation, keys)]
    if not accepted:
        raise dg.Failure(
            f"there is nothing to do for {evaluation.name!r}: no conversation has been accepted",
            allow_retries=False,
        )
    return accepted
