"""What a run asks of the attempt loop: which tasks, and how far to go with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import dagster as dg

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.dagster_assets.keys import TaskAsset
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.records import Task

_SHOWN_KEYS = 20


@dataclass(frozen=True, slots=True)
class Phase:
    """One pass over the tasks: what is done with them, and the assets that stand for it."""

    mode: AttemptMode
    assets: frozenset[TaskAsset]

    def materialised_assets(self, *, reused: bool) -> list[TaskAsset]:
        """Return the assets an accepted task is materialised in.

        A new conversation makes whatever was there of the task out of date, so then it is all.
        """
        everything = self.mode in (AttemptMode.CALL, AttemptMode.FORCE) and not reused
        return [asset for asset in TaskAsset if everything or asset in self.assets]


@dataclass(frozen=True, slots=True)
class Request:
    """The tasks to settle, and the passes over them, in order."""

    tasks: tuple[Task, ...]
    phases: tuple[Phase, ...]

    @property
    def assets(self) -> list[TaskAsset]:
        """The assets that were selected."""
        return [asset for asset in TaskAsset if any(asset in phase.assets for phase in self.phases)]


def phases_of(selected: Collection[TaskAsset], *, force: bool) -> tuple[Phase, ...]:
    """Return what a selection of assets stands for: what is selected is what is done.

    Conversation or audio: see that there is an accepted call, with all that follows from it.
    Validation: judge the calls that are there. Metrics and the summary: score accepted calls.
    Raises dagster.Failure where a call is to be forced that is not selected.
    """
    assets = frozenset(selected)
    if TaskAsset.CONVERSATION in assets or TaskAsset.AUDIO in assets:
        return (Phase(AttemptMode.FORCE if force else AttemptMode.CALL, assets),)
    if force:
        raise dg.Failure(
            "`force: true` asks for new calls, but neither the conversation nor the audio is "
            "selected; select one of them too",
            allow_retries=False,
        )
    validation = assets & {TaskAsset.VALIDATION}
    scores = assets - validation
    if validation and TaskAsset.METRICS not in scores:
        return (Phase(AttemptMode.VALIDATE_ONLY, assets),)
    scoring = Phase(AttemptMode.METRICS_ONLY, scores)
    return (Phase(AttemptMode.VALIDATE_ONLY, validation), scoring) if validation else (scoring,)


def tasks_for(evaluation: Evaluation, keys: Iterable[str]) -> tuple[Task, ...]:
    """Return the tasks of these partition keys, in data-set order.

    Raises dagster.Failure for no key at all, and for keys the data set has no task for.
    """
    wanted = dict.fromkeys(keys)
    if not wanted:
        raise dg.Failure(
            f"there is nothing to do for {evaluation.name!r}: no partition was selected, and none "
            "has failed. Launch the run with a partition or a range, or give `task_keys`",
            allow_retries=False,
        )
    tasks = {task.key: task for task in evaluation.load_tasks()}
    unknown = [key for key in wanted if key not in tasks]
    if unknown:
        shown = ", ".join(unknown[:_SHOWN_KEYS]) + (", …" if len(unknown) > _SHOWN_KEYS else "")
        raise dg.Failure(
            f"{len(unknown)} of {len(wanted)} partitions have no task in {evaluation.data_set}: "
            f"{shown}. Leave them out, or put their records back into the data set",
            metadata={"unknown_keys": dg.MetadataValue.json(unknown)},
            allow_retries=False,
        )
    return tuple(task for key, task in tasks.items() if key in wanted)
