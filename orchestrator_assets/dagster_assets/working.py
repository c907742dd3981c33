"""What every op does around the tasks it settles, whichever asset or job it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import dagster as dg

from orchestrator_assets.dagster_assets.keys import TaskAsset
from orchestrator_assets.dagster_assets.on_disk import log_accepted
from orchestrator_assets.dagster_assets.requests import Phase, Request
from orchestrator_assets.dagster_assets.settling import CreateRun, settle_tasks
from orchestrator_assets.dagster_assets.task_choice import ChosenTasks
from orchestrator_assets.errors import OrchestratorError
from orchestrator_assets.evaluation import Evaluation


def work_on(
    context: dg.OpExecutionContext,
    evaluation: Evaluation,
    chosen: ChosenTasks,
    phases: tuple[Phase, ...],
    create_run: CreateRun,
) -> None:
    """Settle the chosen tasks, and say which partitions of the run are retired.

    Raises dagster.Failure if a task was not accepted, and where no call can be placed.
    """
    request = Request(chosen.tasks, phases)
    note = chosen.note(evaluation)
    if note is not None:
        context.log.warning(note)
    with kept_if_it_fails(context, evaluation, chosen.retired, request.assets):
        settle_tasks(context, evaluation, request, create_run)


@contextmanager
def kept_if_it_fails(
    context: dg.OpExecutionContext,
    evaluation: Evaluation,
    keys: Iterable[str],
    assets: Sequence[TaskAsset],
) -> Iterator[None]:
    """Materialise what is accepted on disk of these partitions again if the body raises.

    Only where Dagster has planned them: it would make them failed partitions.
    """
    try:
        yield
    except Exception:
        if context.has_partition_key or context.has_partition_key_range:
            log_accepted(context, evaluation, keys, assets)
        raise


@contextmanager
def failing_clearly(evaluation: Evaluation) -> Iterator[None]:
    """Turn errors of this package into failures of the run that nothing tries again."""
    try:
        yield
    except OrchestratorError as error:
        raise dg.Failure(f"{evaluation.name}: {error}", allow_retries=False) from error
