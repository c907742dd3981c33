"""The unpartitioned summary of an evaluation: a view of `evaluation_summary.json`.

The attempt loop writes that file and materialises this asset at the end of every run, failed ones
included: as an asset downstream in the same run it would be skipped by a single bad record.
"""

from __future__ import annotations

import dagster as dg

from orchestrator_assets.dagster_assets.code_versions import (
    SUMMARY_VERSION,
    summary_version_tags,
)
from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    evaluation_summary_key,
    task_asset_key,
)
from orchestrator_assets.dagster_assets.summary_metadata import (
    read_summary,
    success_rate,
    summary_metadata,
)
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import write_evaluation_summaries
from orchestrator_assets.store.run_directory import RunDirectory

SUCCESS_RATE_CHECK = "success_rate"


def build_summary_asset(evaluation: Evaluation) -> dg.AssetsDefinition:
    """Return the asset; materialised by itself, it aggregates what is on disk once more.

    With a `success_rate_threshold` it has a check that compares the success rate with it.
    """
    key = evaluation_summary_key(evaluation.name)
    checks = [
        dg.AssetCheckSpec(
            SUCCESS_RATE_CHECK,
            asset=key,
            description=f"At least {threshold:.0%} of the tasks are accepted.",
        )
        for threshold in (evaluation.success_rate_threshold,)
        if threshold is not None
    ]

    @dg.asset(
        key=key,
        deps=[task_asset_key(evaluation.name, TaskAsset.RECORD_SUMMARY)],
        group_name=evaluation.name,
        code_version=SUMMARY_VERSION,
        kinds={"python", "json", *evaluation.dagster.kinds},
        owners=list(evaluation.dagster.owners),
        tags=evaluation.dagster.tags,
        check_specs=checks,
        description="How many tasks were accepted, what failed and why, over the whole run.",
    )
    def evaluation_summary() -> dg.MaterializeResult:  # type: ignore[type-arg]
        write_evaluation_summaries(evaluation)
        return dg.MaterializeResult(
            metadata=summary_metadata(evaluation),
            check_results=[
                dg.AssetCheckResult(
                    check_name=answer.check_name,
                    passed=answer.passed,
                    description=answer.description,
                    metadata=answer.metadata,
                )
                for answer in success_rate_checks(evaluation)
            ],
        )

    return evaluation_summary


def evaluation_summary_event(evaluation: Evaluation) -> dg.AssetMaterialization:
    """Return the materialisation of the summary as it lies on disk."""
    return dg.AssetMaterialization(
        evaluation_summary_key(evaluation.name),
        metadata=summary_metadata(evaluation),
        tags=_version_tags(evaluation),
    )


def _version_tags(evaluation: Evaluation) -> dict[str, str]:
    path = RunDirectory(evaluation.run_directory).evaluation_summary_path
    try:
        return summary_version_tags(evaluation, path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # The metadata says that it can't be read.


def success_rate_checks(evaluation: Evaluation) -> list[dg.AssetCheckEvaluation]:
    """Return whether the success rate on disk is what the evaluation wants, if it wants any."""
    threshold = evaluation.success_rate_threshold
    if threshold is None:
        return []
    metadata = {"threshold": dg.MetadataValue.float(threshold)}
    try:
        rate = success_rate(read_summary(evaluation))
        text = "there is no task" if rate is None else f"{rate:.1%} of the tasks are accepted"
    except (OSError, ValueError) as error:
        rate, text = None, f"the summary can't be read: {error}"
    if rate is not None:
        metadata["success_rate"] = dg.MetadataValue.float(round(rate, 4))
    return [
        dg.AssetCheckEvaluation(
            asset_key=evaluation_summary_key(evaluation.name),
            check_name=SUCCESS_RATE_CHECK,
            passed=rate is not None and rate >= threshold,
            description=f"{text}; {threshold:.0%} are wanted",
            metadata=metadata,
        )
    ]
