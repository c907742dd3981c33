"""The partitioned assets of an evaluation: one multi-asset, worked by the attempt loop."""

# No postponed annotations here: Dagster takes the config's class from the op's signature.

from collections.abc import Iterator

import dagster as dg

from orchestrator_assets.dagster_assets.config import AttemptConfig
from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    attempts_op_name,
    calls_pool,
    task_asset_key,
)
from orchestrator_assets.dagster_assets.partitions import task_partitions
from orchestrator_assets.dagster_assets.requests import Request, phases_of, tasks_for
from orchestrator_assets.dagster_assets.rerun_keys import keys_without_partitions
from orchestrator_assets.dagster_assets.settling import CreateRun, settle_tasks
from orchestrator_assets.evaluation import Evaluation

# Raise it when what an asset holds is computed differently.
CODE_VERSION = "1"

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
_UPSTREAM = {
    TaskAsset.CONVERSATION: (),
    TaskAsset.AUDIO: (TaskAsset.CONVERSATION,),
    TaskAsset.VALIDATION: (TaskAsset.CONVERSATION, TaskAsset.AUDIO),
    TaskAsset.METRICS: (TaskAsset.VALIDATION,),
    TaskAsset.RECORD_SUMMARY: (TaskAsset.METRICS,),
}


def build_task_assets(evaluation: Evaluation, create_run: CreateRun) -> dg.AssetsDefinition:
    """Return the multi-asset that settles the tasks of its partitions in one run.

    Every output is skippable: a task that fails leaves its partitions unmaterialised, which a
    failed run turns into failed partitions, while those of the other tasks stay materialised.
    """

    @dg.multi_asset(
        name=attempts_op_name(evaluation.name),
        specs=_specs(evaluation),
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
        pool=calls_pool(evaluation.name),
    )
    def attempts(context: dg.AssetExecutionContext, config: AttemptConfig) -> Iterator[dg.Output]:  # type: ignore[type-arg]
        selected = _selected_assets(evaluation, context)
        phases = phases_of(selected, force=config.force)
        keys = _requested_keys(evaluation, context, config)
        request = Request(tasks_for(evaluation, keys), phases)
        settle_tasks(context.op_execution_context, evaluation, request, create_run)
        yield from ()

    return attempts


def _specs(evaluation: Evaluation) -> list[dg.AssetSpec]:
    partitions = task_partitions(evaluation.name)
    return [
        dg.AssetSpec(
            task_asset_key(evaluation.name, asset),
            deps=[task_asset_key(evaluation.name, upstream) for upstream in _UPSTREAM[asset]],
            description=_DESCRIPTIONS[asset],
            skippable=True,
            group_name=evaluation.name,
            code_version=CODE_VERSION,
            kinds=_KINDS[asset],
            partitions_def=partitions,
        )
        for asset in TaskAsset
    ]


def _selected_assets(
    evaluation: Evaluation, context: dg.AssetExecutionContext
) -> frozenset[TaskAsset]:
    selected = context.selected_asset_keys
    return frozenset(
        asset for asset in TaskAsset if task_asset_key(evaluation.name, asset) in selected
    )


def _requested_keys(
    evaluation: Evaluation, context: dg.AssetExecutionContext, config: AttemptConfig
) -> list[str]:
    if not (context.has_partition_key or context.has_partition_key_range):
        return keys_without_partitions(context.instance, evaluation.name, config.task_keys)
    if config.task_keys is not None:
        raise dg.Failure(
            "`task_keys` is for runs without partitions, but this run has some; drop one of them",
            allow_retries=False,
        )
    return list(context.partition_keys)
