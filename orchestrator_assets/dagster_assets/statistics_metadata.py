"""What the UI shows of `metrics_summary.json`: tables that print their denominators, and numbers.

The numbers plot from run to run; they are few, of composites and of what is lacking, so that one
that matters is not lost among dozens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from orchestrator_assets.dagster_assets.markdown import markdown_table

Metadata = dict[str, dg.MetadataValue]

_LEFT_OUT = ("skipped", "errored", "missing", "failed", "unjudged", "pending")
_COUNTED = ("skipped", "errored", "missing", "unjudged")
_SHOWN_RECORDS = 50


def statistics_metadata(summary: Mapping[str, Any], metrics: Sequence[str]) -> Metadata:
    """Return scores, pass@k, judge cost and gaps; composites first, then `metrics` in their order.

    Raises KeyError or TypeError where the summary is not of this package's making.
    """
    overall, per_metric = summary["overall_scores"], summary["per_metric"]
    composites = {name: score for name, score in overall.items() if name != "pass_k"}
    shown = composites | {name: per_metric[name] for name in metrics if name in per_metric}
    passes = overall["pass_k"] | {
        name: score["pass_k"]
        for name, score in shown.items()
        if name in per_metric and "pass_k" in score
    }
    return {
        **_scores(shown),
        **_passes(passes, summary["pass_at_k_config"]),
        **_numbers(composites, overall["pass_k"]),
        **_gaps(shown),
        **_judging(summary["judge_usage"]),
    }


def _scores(shown: Mapping[str, Mapping[str, Any]]) -> Metadata:
    if not shown:
        return {}
    table = markdown_table(
        ("score", "mean", "95 % interval", "scored", "left out", "passed", "of all tasks"),
        [
            (
                name,
                _number(score["mean"]),
                _interval(score),
                f"{score['tasks']['scored']} of {score['tasks']['total']}",
                _left_out(score["tasks"]),
                _share(score, "success_rate"),
                _share(score, "success_rate_strict"),
            )
            for name, score in shown.items()
        ],
    )
    return {"scores": dg.MetadataValue.md(table)}


def _left_out(tasks: Mapping[str, int]) -> str:
    return ", ".join(f"{tasks[each]} {each}" for each in _LEFT_OUT if tasks[each])


def _interval(score: Mapping[str, Any]) -> str:
    lower, upper = score["mean_ci_lower"], score["mean_ci_upper"]
    if lower is None:
        return "none: one record" if score["mean_ci_n_scenarios"] == 1 else ""
    return f"{_number(lower)} to {_number(upper)}"


def _share(score: Mapping[str, Any], rate: str) -> str:
    if score.get(rate) is None:
        return ""
    return f"{score['passed_count']} of {score[f'{rate}_of']} ({score[rate]:.1%})"


def _passes(passes: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]) -> Metadata:
    """Return the rates for every k; with one trial they say what `scores` says already."""
    if not passes or config["num_draws"] == 1:
        return {}
    table = markdown_table(
        ("score", "k", "policy", "pass@k", "pass^k", "pass^k theoretical", "records"),
        [row for name, each in passes.items() for row in _pass_rows(name, each)],
    )
    metadata: Metadata = {"pass_at_k": dg.MetadataValue.md(table)}
    few = config["too_few_accepted_trials"]
    if few:
        rows = [(record, str(trials)) for record, trials in list(few.items())[:_SHOWN_RECORDS]]
        text = markdown_table(("record", "accepted trials"), rows)
        if len(few) > _SHOWN_RECORDS:
            text += f"\n\n{len(few) - _SHOWN_RECORDS} more in metrics_summary.json."
        metadata["records_with_too_few_trials"] = dg.MetadataValue.md(text)
    return metadata


def _pass_rows(name: str, passes: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for policy, by_k in (("scored", passes["by_k"]), ("all tasks", passes["strict"]["by_k"])):
        for row in by_k:
            yield (
                name,
                str(row["k"]),
                policy,
                _number(row["pass_at_k"]),
                _number(row["pass_power_k_observed"]),
                _number(row["pass_power_k_theoretical"]),
                f"{row['count']} of {passes['total_records']}",
            )


def _numbers(composites: Mapping[str, Any], passes: Mapping[str, Any]) -> Metadata:
    values = {name: score["mean"] for name, score in composites.items()}
    for name, score in passes.items():
        if score["k"] > 1:
            values[f"{name}_pass_at_{score['k']}"] = score["pass_at_k"]
            values[f"{name}_pass_power_{score['k']}"] = score["pass_power_k_observed"]
    return {
        name: dg.MetadataValue.float(round(value, 4))
        for name, value in values.items()
        if value is not None
    }


def _gaps(shown: Mapping[str, Mapping[str, Any]]) -> Metadata:
    """Return how many scores there are not, over all metrics and composites."""
    return {
        f"scores_{each}": dg.MetadataValue.int(
            sum(score["tasks"][each] for score in shown.values())
        )
        for each in _COUNTED
    }


def _judging(usage: Mapping[str, Any]) -> Metadata:
    total = usage["total"]
    if total is None:
        return {}
    rows = [*usage["per_metric"].items(), ("total", total)]
    table = markdown_table(
        ("metric", "model", "calls", "tokens in", "tokens out", "US dollars", "without price"),
        [
            (
                name,
                use["model"],
                str(use["calls"]),
                str(use["input_tokens"]),
                str(use["output_tokens"]),
                "unknown" if use["cost_usd"] is None else f"{use['cost_usd']:.4f}",
                str(use["unpriced_calls"]),
            )
            for name, use in rows
        ],
    )
    metadata: Metadata = {
        "judge_usage": dg.MetadataValue.md(table),
        "judge_calls": dg.MetadataValue.int(total["calls"]),
    }
    if total["cost_usd"] is not None:
        metadata["judge_cost_usd"] = dg.MetadataValue.float(round(total["cost_usd"], 6))
    return metadata


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
