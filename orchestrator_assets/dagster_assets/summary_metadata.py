"""What the UI shows of a whole evaluation: numbers that plot from run to run, and why tasks failed.

Everything is read from the run directory, where the summaries lie when this is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import numpy as np

from orchestrator_assets.dagster_assets.file_links import FileLinks
from orchestrator_assets.dagster_assets.markdown import markdown_table
from orchestrator_assets.dagster_assets.results import TaskResult, read_results, what_happened
from orchestrator_assets.dagster_assets.statistics_metadata import statistics_metadata
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.store.run_directory import RunDirectory

Metadata = dict[str, dg.MetadataValue]

_LATENCY = "response_latency"
_SHOWN_FAILURES = 50


def read_summary(evaluation: Evaluation) -> dict[str, Any]:
    """Return `evaluation_summary.json`. Raises OSError or ValueError if it can't be read."""
    path = RunDirectory(evaluation.run_directory).evaluation_summary_path
    summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return summary


def summary_metadata(evaluation: Evaluation) -> Metadata:
    """Return counts, rates, latencies and failures; what can't be read is said to be so."""
    run_directory = RunDirectory(evaluation.run_directory)
    links = FileLinks.of(evaluation)
    files: Metadata = {
        "summary_file": links.to(run_directory.evaluation_summary_path),
        "results": links.to(run_directory.results_path),
        "run_directory": links.to(run_directory.root),
    }
    try:
        summary = read_summary(evaluation)
    except (OSError, ValueError) as error:
        return {"summary": dg.MetadataValue.text(f"can't be read: {error}"), **files}
    results = read_results(run_directory)
    first = {
        "summary": dg.MetadataValue.text(_line(summary)),
        **_failures(run_directory, results),
        **_counts(summary),
    }
    return {
        **first,
        **_statistics(evaluation),
        # Once more: a composite may be called like one of these.
        **first,
        **_latencies(results),
        **_attempts(summary),
        **_economics(summary.get("attempts", {}).get("economics", {})),
        **files,
    }


def _statistics(evaluation: Evaluation) -> Metadata:
    path = RunDirectory(evaluation.run_directory).metrics_summary_path
    try:
        return statistics_metadata(json.loads(path.read_text(encoding="utf-8")), evaluation.metrics)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return {"scores": dg.MetadataValue.text(f"can't be read: {error}")}


def success_rate(summary: Mapping[str, Any]) -> float | None:
    """Return the share of accepted tasks, None if there is no task."""
    simulation = summary.get("simulation", {})
    total = simulation.get("total_records", 0)
    return simulation.get("successful_records", 0) / total if total else None


def _line(summary: Mapping[str, Any]) -> str:
    simulation = summary.get("simulation", {})
    total, accepted = simulation.get("total_records", 0), simulation.get("successful_records", 0)
    parts = [f"{accepted} of {total} tasks accepted"]
    limited = len(simulation.get("time_limit_accepted_record_ids", []))
    failed = simulation.get("failed_records", 0)
    pending = len(summary.get("pending_record_ids", []))
    parts += [f"{limited} of them by time limit"] if limited else []
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{pending} pending"] if pending else []
    return ", ".join(parts)


def _counts(summary: Mapping[str, Any]) -> Metadata:
    simulation = summary.get("simulation", {})
    limited = simulation.get("time_limit_accepted_record_ids", [])
    counts = {
        "tasks": simulation.get("total_records", 0),
        "accepted": simulation.get("successful_records", 0),
        "failed": simulation.get("failed_records", 0),
        "pending": len(summary.get("pending_record_ids", [])),
        "accepted_by_time_limit": len(limited),
    }
    metadata: Metadata = {name: dg.MetadataValue.int(count) for name, count in counts.items()}
    rate = success_rate(summary)
    if rate is not None:
        metadata["success_rate"] = dg.MetadataValue.float(round(rate, 4))
    return metadata


def _latencies(results: Sequence[TaskResult]) -> Metadata:
    """Return percentiles of the tasks' mean response latencies, in seconds."""
    latencies = [task.scores[_LATENCY] for task in results if _LATENCY in task.scores]
    if not latencies:
        return {}
    return {
        f"{_LATENCY}_p{percentile}_seconds": dg.MetadataValue.float(
            round(float(np.percentile(latencies, percentile)), 3)
        )
        for percentile in (50, 90, 99)
    }


def _attempts(summary: Mapping[str, Any]) -> Metadata:
    attempts = summary.get("attempts", {})
    metadata: Metadata = {}
    if "total" in attempts:
        metadata["attempts"] = dg.MetadataValue.int(attempts["total"])
    for heading in ("outcome", "cause"):
        rows = [
            (name.replace("_", " "), str(count))
            for name, count in attempts.get(f"by_{heading}", {}).items()
            if count
        ]
        if rows:
            table = markdown_table((heading, "attempts"), rows)
            metadata[f"attempts_by_{heading}"] = dg.MetadataValue.md(table)
    return metadata


def _economics(economics: Mapping[str, Any]) -> Metadata:
    """Return what retrying cost, and what it did to the success rate and the scores."""
    metadata: Metadata = {}
    spent = economics.get("invalid_by_cause", {})
    if spent:
        seconds = sum(each["seconds"] for each in spent.values())
        metadata["seconds_spent_on_invalid"] = dg.MetadataValue.float(round(float(seconds), 1))
        rows = [
            (cause, str(each["attempts"]), f"{each['seconds']:.1f}")
            for cause, each in spent.items()
            if each["attempts"]
        ]
        if rows:
            table = markdown_table(("cause", "invalid attempts", "seconds"), rows)
            metadata["spent_on_invalid"] = dg.MetadataValue.md(table)
    rate = economics.get("first_attempts", {}).get("success_rate")
    if rate is not None:
        metadata["success_rate_of_first_attempts"] = dg.MetadataValue.float(round(rate, 4))
    scores = economics.get("scores", {})
    if scores:
        table = markdown_table(
            ("metric", "as selected", "first attempts", "could be"),
            [(name.replace("_", " "), *_compared(score)) for name, score in scores.items()],
        )
        metadata["scores_as_selected"] = dg.MetadataValue.md(table)
    return metadata


def _compared(score: Mapping[str, Any]) -> tuple[str, str, str]:
    first = score["first_attempts"]
    span = f"{first['lowest']:.3f} to {first['highest']:.3f}" if "lowest" in first else ""
    return _mean(score["as_selected"]), _mean(first), span if first["unknown"] else ""


def _mean(scores: Mapping[str, Any]) -> str:
    return "" if scores["mean"] is None else f"{scores['mean']:.3f} (of {scores['count']})"


def _failures(run_directory: RunDirectory, results: Sequence[TaskResult]) -> Metadata:
    """Return the failed tasks as a table, those with the same cause side by side."""
    failed = sorted((task for task in results if task.failed), key=lambda task: task.cause)
    if not failed:
        return {}
    table = markdown_table(
        ("cause", "task", "attempts", "how it ended", "what happened"),
        [
            (
                task.cause or "unknown",
                task.task_id,
                task.attempts,
                task.outcome.replace("_", " "),
                what_happened(run_directory, task),
            )
            for task in failed[:_SHOWN_FAILURES]
        ],
    )
    left_out = len(failed) - _SHOWN_FAILURES
    if left_out > 0:
        table += f"\n\n{left_out} more in {run_directory.results_path.name}."
    return {"failures": dg.MetadataValue.md(table)}
