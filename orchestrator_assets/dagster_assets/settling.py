"""The body of every op that works on tasks: drive the attempt loop, record what it settles.

The loop lives in a thread of its own and the op takes its outcomes from a queue, recording each as
it comes with `log_event`. Nothing is yielded before the end: an interrupt that arrives while
Dagster handles a yielded event would skip the clean-up, and calls would go on with nobody there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Protocol

import dagster as dg

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.dagster_assets._compat import (
    log_check_evaluations,
    log_events,
    plan_failed_partitions,
    report_canceling,
)
from orchestrator_assets.dagster_assets.attempt_observations import (
    failed_attempt_observations,
)
from orchestrator_assets.dagster_assets.interrupts import interrupts_end
from orchestrator_assets.dagster_assets.keys import task_asset_key
from orchestrator_assets.dagster_assets.on_disk import (
    accepted_on_disk,
    log_accepted,
    log_settled,
)
from orchestrator_assets.dagster_assets.requests import Phase, Request
from orchestrator_assets.dagster_assets.summary_asset import (
    evaluation_summary_event,
    success_rate_checks,
)
from orchestrator_assets.dagster_assets.task_metadata import failures_table
from orchestrator_assets.errors import OrchestratorError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import EvaluationRun, OutcomeStream
from orchestrator_assets.metrics.selection import MetricSelection
from orchestrator_assets.records import Task

logger = logging.getLogger(__name__)


class CreateRun(Protocol):
    """Makes the run that settles tasks; replaced to inject callers, judges and listeners."""

    def __call__(
        self,
        evaluation: Evaluation,
        tasks: Iterable[Task],
        *,
        mode: AttemptMode,
        run_id: str,
        metric_selection: MetricSelection | None,
    ) -> EvaluationRun:
        """Return a run that has not started yet."""
        ...


def settle_tasks(
    context: dg.OpExecutionContext,
    evaluation: Evaluation,
    request: Request,
    create_run: CreateRun,
) -> None:
    """Settle the tasks of a request, materialising each partition as soon as it is accepted.

    Raises dagster.Failure at the end if any task was not accepted, and where no call can be placed.
    The summary is written and materialised whatever happens.
    """
    settled: dict[str, TaskOutcome] = {}
    try:
        for phase in request.phases:
            settled.clear()
            run = create_run(
                evaluation,
                request.tasks,
                mode=phase.mode,
                run_id=context.run_id,
                metric_selection=phase.metric_selection,
            )
            _record_outcomes(context, phase, run, settled)
    except Exception as error:
        _fail_partitions(context, evaluation, request, settled)
        if isinstance(error, OrchestratorError):
            raise dg.Failure(f"{evaluation.name}: {error}", allow_retries=False) from error
        raise
    finally:
        log_events(context, [evaluation_summary_event(evaluation)])
        log_check_evaluations(context, success_rate_checks(evaluation))
    failed = [outcome for outcome in settled.values() if not outcome.accepted]
    if failed:
        _fail_partitions(context, evaluation, request, settled)
        raise dg.Failure(
            f"{len(failed)} of {len(settled)} tasks were not accepted: "
            + ", ".join(outcome.task.id for outcome in failed),
            metadata={"failures": failures_table(failed)},
            allow_retries=False,
        )


def _record_outcomes(
    context: dg.OpExecutionContext,
    phase: Phase,
    run: EvaluationRun,
    settled: dict[str, TaskOutcome],
) -> None:
    """Record the outcomes of a run as they come, and put them into `settled`."""
    recorded = 0
    with OutcomeStream(run.outcomes) as outcomes:
        with interrupts_end(outcomes):
            for outcome in outcomes:
                _record(context, phase, run.evaluation, outcome)
                settled[outcome.task.key] = outcome
                recorded += 1
        if outcomes.stopped:
            # Unless the run is known to be cancelling, Dagster takes an interrupt for a failure.
            report_canceling(context.instance, context.run_id)
    # The loop may have been ahead when it was stopped, and what it accepted stays accepted.
    for outcome in run.settled[recorded:]:
        _record(context, phase, run.evaluation, outcome)
        settled[outcome.task.key] = outcome
    if outcomes.stopped:
        raise dg.DagsterExecutionInterruptedError


def _record(
    context: dg.OpExecutionContext, phase: Phase, evaluation: Evaluation, outcome: TaskOutcome
) -> None:
    for observation in failed_attempt_observations(evaluation, outcome):
        context.log_event(observation)
    reused = outcome.reused or not outcome.accepted
    log_settled(context, evaluation, outcome, phase.materialised_assets(reused=reused))


def _fail_partitions(
    context: dg.OpExecutionContext,
    evaluation: Evaluation,
    request: Request,
    settled: Mapping[str, TaskOutcome],
) -> None:
    """Make exactly the tasks that are not accepted failed partitions.

    A failed partition is one that was planned and not materialised by a run that failed. Dagster
    plans the partitions of a range by itself, those too that the run did not come to, though they
    may be accepted on disk; without a range, it is done here.
    """
    keys = [task.key for task in request.tasks]
    untouched = [key for key in keys if key not in settled]
    if context.has_partition_key or context.has_partition_key_range:
        log_accepted(context, evaluation, untouched, request.assets)
        return
    accepted = {key for key, outcome in settled.items() if outcome.accepted}
    accepted |= {outcome.task.key for outcome in accepted_on_disk(evaluation, untouched)}
    plan_failed_partitions(
        context,
        [task_asset_key(evaluation.name, asset) for asset in request.assets],
        [key for key in keys if key not in accepted],
    )
