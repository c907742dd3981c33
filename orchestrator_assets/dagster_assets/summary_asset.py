"""The unpartitioned summary of an evaluation: a view of `evaluation_summary.json`.

The attempt loop writes that file and materialises this asset at the end of every run, failed ones
included: as an asset downstream in the same run it would be skipped by a single bad record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg

from orchestrator_assets.dagster_assets.keys import (
    TaskAsset,
    evaluation_summary_key,
    task_asset_key,
)
from orchestrator_assets.dagster_assets.markdown import markdown_table
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_run import write_evaluation_summaries
from orchestrator_assets.store.run_directory import RunDirectory


def build_summary_asset(evaluation: Evaluation) -> dg.AssetsDefinition:
    """Return the asset; materialised by itself, it aggregates what is on disk once more."""

    @dg.asset(
        key=evaluation_summary_key(evaluation.name),
        deps=[task_asset_key(evaluation.name, TaskAsset.RECORD_SUMMARY)],
        group_name=evaluation.name,
        kinds={"python", "json"},
        description="How many tasks were accepted, what failed and why, over the whole run.",
    )
    def evaluation_summary() -> dg.MaterializeResult[None]:
        write_evaluation_summaries(evaluation)
        return dg.MaterializeResult(metadata=summary_metadata(evaluation))

    return evaluation_summary


def evaluation_summary_event(evaluation: Evaluation) -> dg.AssetMaterialization:
    """Return the materialisation of the summary as it lies on disk."""
    return dg.AssetMaterialization(
        evaluation_summary_key(evaluation.name), metadata=summary_metadata(evaluation)
    )


def summary_metadata(evaluation: Evaluation) -> dict[str, dg.MetadataValue]:
    """Return counts, the success rate and why tasks failed, read from the run directory."""
    path = RunDirectory(evaluation.run_directory).evaluation_summary_path
    metadata: dict[str, dg.MetadataValue] = {
        "run_directory": dg.MetadataValue.path(str(evaluation.run_directory)),
        "summary_file": dg.MetadataValue.path(str(path)),
    }
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return metadata | {"summary": dg.MetadataValue.text(f"can't be read: {error}")}
    return metadata | _counts(summary) | _failures(summary)


def _counts(summary: Mapping[str, Any]) -> dict[str, dg.MetadataValue]:
    simulation = summary.get("simulation", {})
    total = simulation.get("total_records", 0)
    successful = simulation.get("successful_records", 0)
    metadata: dict[str, dg.MetadataValue] = {
        "tasks": dg.MetadataValue.int(total),
        "accepted": dg.MetadataValue.int(successful),
        "failed": dg.MetadataValue.int(simulation.get("failed_records", 0)),
        "pending": dg.MetadataValue.int(len(summary.get("pending_record_ids", []))),
        "accepted_by_time_limit": dg.MetadataValue.int(
            len(simulation.get("time_limit_accepted_record_ids", []))
        ),
    }
    if total:
        metadata["success_rate"] = dg.MetadataValue.float(successful / total)
    attempts = summary.get("attempts", {})
    if "total" in attempts:
        metadata["attempts"] = dg.MetadataValue.int(attempts["total"])
    for heading in ("outcome", "cause"):
        counts = attempts.get(f"by_{heading}")
        if counts:
            rows = [(name, str(count)) for name, count in counts.items()]
            table = markdown_table((heading, "attempts"), rows)
            metadata[f"attempts_by_{heading}"] = dg.MetadataValue.md(table)
    return metadata


def _failures(summary: Mapping[str, Any]) -> dict[str, dg.MetadataValue]:
    failures = summary.get("final_failures", {})
    if not failures:
        return {}
    rows = [
        (
            task_id,
            str(failure.get("attempt", "")),
            str(failure.get("reason", "")),
            _failure_text(failure),
        )
        for task_id, failure in failures.items()
    ]
    return {
        "failures": dg.MetadataValue.md(
            markdown_table(("task", "last attempt", "outcome", "details"), rows)
        )
    }


def _failure_text(failure: Mapping[str, Any]) -> str:
    details = failure.get("failure_details") or {}
    if isinstance(details, Mapping):
        return "; ".join(f"{name}: {text}" for name, text in details.items())
    return str(details)
