"""The asset keys of an evaluation, and which part of the work each one stands for."""

from __future__ import annotations

from enum import StrEnum

import dagster as dg


class TaskAsset(StrEnum):
    """An asset with a partition per task; each is a view of files in the task's directory."""

    CONVERSATION = "conversation"
    AUDIO = "audio"
    VALIDATION = "validation"
    METRICS = "metrics"
    RECORD_SUMMARY = "record_summary"


UPSTREAM = {
    TaskAsset.CONVERSATION: (),
    TaskAsset.AUDIO: (TaskAsset.CONVERSATION,),
    TaskAsset.VALIDATION: (TaskAsset.CONVERSATION, TaskAsset.AUDIO),
    TaskAsset.METRICS: (TaskAsset.VALIDATION,),
    TaskAsset.RECORD_SUMMARY: (TaskAsset.METRICS,),
}
"""What each asset of a task is made from."""

EVALUATION_SUMMARY = "evaluation_summary"


def task_asset_key(evaluation_name: str, asset: TaskAsset) -> dg.AssetKey:
    """Return the key of a partitioned asset, `<evaluation>/<asset>`."""
    return dg.AssetKey([evaluation_name, asset.value])


def task_asset_keys(evaluation_name: str) -> list[dg.AssetKey]:
    """Return the keys of all partitioned assets of an evaluation."""
    return [task_asset_key(evaluation_name, asset) for asset in TaskAsset]


def evaluation_summary_key(evaluation_name: str) -> dg.AssetKey:
    """Return the key of the unpartitioned summary, `<evaluation>/evaluation_summary`."""
    return dg.AssetKey([evaluation_name, EVALUATION_SUMMARY])


def attempts_op_name(evaluation_name: str) -> str:
    """Return the name of the op behind the partitioned assets, by which it is configured."""
    return f"{evaluation_name}_attempts"


def calls_pool(evaluation_name: str) -> str:
    """Return the concurrency pool of the evaluation's calls.

    With a limit of 1, runs of an evaluation queue up instead of sharing the agent's capacity.
    """
    return f"{evaluation_name}_calls"
