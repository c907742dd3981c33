"""The partitioned assets of an evaluation: one multi-asset, worked by the attempt loop."""

# No postponed annotations here: Dagster takes the config's class from the op's signature.

from collections.abc import Iterator

import dagster as dg

from orchestrator_assets.dagster_assets.checks import task_check_specs
from orchestrator_assets.dagster_assets.code_versions import code_version
from orchestrator_assets.dagster_assets.config import AttemptConfig, with_limits
from orchestrator_assets.dagster_assets.keys import (
    UPSTREAM,
    TaskAsset,
    attempts_op_name,
    calls_pool,
    task_asset_key,
)
from orchestrator_assets.dagster_assets.on_disk import log_checks
from orchestrator_assets.dagster_assets.partitions import task_partitions
from orchestrator_assets.dagster_assets.requests import phases_of
from orchestrator_assets.dagster_assets.settling import CreateRun
from orchestrator_assets.dagster_assets.task_choice import (
    ChosenTasks,
    choose_tasks,
    failed_keys,
    refuse_choice,
    tasks_of_keys,
)
from orchestrator_assets.dagster_assets.working import failing_clearly, kept_if_it_fails, work_on
from orchestrator_assets.evaluation import Evaluation

_DESCRIPTIONS = {
    TaskAsset.CONVERSATION: (
        "An accepted call between the simulated caller and the agent: transcript, events, result."
    ),
    TaskAsset.AUDIO: (
        "The recording of the call: a track per side and the mix, PCM16 WAV of equal length."
    ),
    TaskAsset.VALIDATION: (
        "Whether the simulated caller did its part. It says nothing of the agent."
    ),
    TaskAsset.METRICS: "Scores of the agent, computed on the accepted conversation.",
    TaskAsset.RECORD_SUMMARY: "How the task was settled, in a line.",
}
_KINDS = {
    TaskAsset.CONVERSATION: {"python", "json"},
    TaskAsset.AUDIO: {"python", "wav"},
    TaskAsset.VALIDATION: {"python", "json"},
    TaskAsset.METRICS: {"python", "json"},
    TaskAsset.RECORD_SUMMARY: {"python"},
}


def build_task_assets(evaluation: Evaluation, create_run: CreateRun) -> dg.AssetsDefinition:
    """Return the multi-asset that settles the tasks of its partitions in one run.

    Every output is skippable: a task that fails leaves its partitions unmaterialised, which a
    failed run turns into failed partitions, while those of the other tasks stay materialised.
    """

    @dg.multi_asset(
        name=attempts_op_name(evaluation.name),
        specs=_specs(evaluation),
        check_specs=task_check_specs(evaluation),
        can_subset=True,
        backfill_policy=_backfill_policy(evaluation),
        pool=calls_pool(evaluation.name),
    )
    def attempts(context: dg.AssetExecutionContext, config: AttemptConfig) -> Iterator[dg.Output]:  # type: ignore[type-arg]
        selected = _selected_assets(evaluation, context)
        planned = list(context.partition_keys) if _has_partitions(context) else []
        op_context = context.op_execution_context
        with failing_clearly(evaluation):
            with kept_if_it_fails(op_context, evaluation, planned, selected):
                limited = with_limits(evaluation, config)
                phases = phases_of(selected, force=config.force, revalidate=config.revalidate)
                chosen = _chosen_tasks(evaluation, context, config, planned)
            if not selected:
                checks = context.selected_asset_check_keys
                log_checks(op_context, evaluation, chosen.tasks, checks)
                return
            work_on(op_context, limited, chosen, phases, create_run)
        yield from ()

    return attempts


def _backfill_policy(evaluation: Evaluation) -> dg.BackfillPolicy:
    limit = evaluation.dagster.max_partitions_per_run
    return dg.BackfillPolicy.single_run() if limit is None else dg.BackfillPolicy.multi_run(limit)


def _specs(evaluation: Evaluation) -> list[dg.AssetSpec]:
    partitions = task_partitions(evaluation.name)
    settings = evaluation.dagster
    return [
        dg.AssetSpec(
            task_asset_key(evaluation.name, asset),
            deps=[task_asset_key(evaluation.name, upstream) for upstream in UPSTREAM[asset]],
            description=_DESCRIPTIONS[asset],
            skippable=True,
            group_name=evaluation.name,
            code_version=code_version(evaluation, asset),
            kinds=_KINDS[asset] | set(settings.kinds),
            owners=list(settings.owners),
            tags=settings.tags,
            partitions_def=partitions,
        )
        for asset in TaskAsset
    ]


def _selected_assets(evaluation: Evaluation, context: dg.AssetExecutionContext) -> list[TaskAsset]:
    selected = context.selected_asset_keys
    return [asset for asset in TaskAsset if task_asset_key(evaluation.name, asset) in selected]


def _has_partitions(context: dg.AssetExecutionContext) -> bool:
    return bool(context.has_partition_key or context.has_partition_key_range)


def _chosen_tasks(
    evaluation: Evaluation,
    context: dg.AssetExecutionContext,
    config: AttemptConfig,
    planned: list[str],
) -> ChosenTasks:
    if not _has_partitions(context):
        return choose_tasks(context.instance, evaluation, config, failed_keys)
    refuse_choice(config)
    return tasks_of_keys(context.instance, evaluation, planned)
