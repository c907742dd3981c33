"""What the command line says of a whole evaluation: each score's mean, and what it is the mean of.

It is read from `metrics_summary.json`, so that it says of all tasks what the files say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.cells import cell_len
from rich.console import Console

from orchestrator_assets.command_line.report import counted, with_unit
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.store.run_directory import RunDirectory

_LEFT_OUT = ("skipped", "errored", "missing", "failed", "unjudged", "pending")
_SHOWN_RECORDS = 5


def print_statistics(console: Console, evaluation: Evaluation) -> None:
    """Print a block of the composites, then the metrics in the evaluation's order.

    Says so where the summary can't be read.
    """
    path = RunDirectory(evaluation.run_directory).metrics_summary_path
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        lines = list(statistics_lines(summary, evaluation.metrics))
    except (OSError, ValueError, KeyError, TypeError) as error:
        lines = [f"{path} can't be read: {error}"]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def statistics_lines(summary: Mapping[str, Any], metrics: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines about a `metrics_summary.json`."""
    overall, per_metric = summary["overall_scores"], summary["per_metric"]
    composites = {name: score for name, score in overall.items() if name != "pass_k"}
    shown = {
        **composites,
        **{name: per_metric[name] for name in metrics if name in per_metric},
    }
    if not shown or not summary["total_tasks"]:
        return
    width = max(map(cell_len, shown))
    passes = {
        **{name: score["pass_k"] for name, score in per_metric.items() if "pass_k" in score},
        **overall["pass_k"],
    }
    told_strictly = False
    tasks = counted(summary["total_tasks"], "task")
    yield f"Means over {tasks}, with 95 % intervals by record:"
    for name, score in shown.items():
        yield f"  {_padded(name, width)}  {_mean(score, name)}"
        if name in passes and passes[name]["k"] > 1:
            rates = list(_passes(passes[name]))
            yield from (f"  {' ' * width}  {line}" for line in rates)
            told_strictly |= len(rates) > 1
    if told_strictly:
        yield "Strictly, a trial without a score has not passed, unless the metric was skipped."
    yield from _too_few(summary["pass_at_k_config"])
    yield from _judging(summary["judge_usage"]["total"])


def _padded(name: str, width: int) -> str:
    return name + " " * (width - cell_len(name))


def _mean(score: Mapping[str, Any], name: str) -> str:
    tasks = score["tasks"]
    left_out = [f"{tasks[each]:,} {each}" for each in _LEFT_OUT if tasks[each]]
    counts = f"{tasks['scored']:,} of {tasks['total']:,} scored"
    counts += f" ({', '.join(left_out)})" if left_out else ""
    if score["mean"] is None:
        return counts
    parts = [f"{with_unit(score['mean'], name)} {_interval(score, name)}", counts]
    if score.get("success_rate") is not None:
        parts.append(_passed(score))
    return "; ".join(parts)


def _interval(score: Mapping[str, Any], name: str) -> str:
    lower, upper = score["mean_ci_lower"], score["mean_ci_upper"]
    if lower is None:
        return "[no interval: one record]"
    return f"[{with_unit(lower, name)}, {with_unit(upper, name)}]"


def _passed(score: Mapping[str, Any]) -> str:
    passed, scored = score["passed_count"], score["success_rate_of"]
    text = f"passed {passed:,} of {scored:,} ({score['success_rate']:.1%})"
    of_all = score["success_rate_strict_of"]
    if of_all != scored:
        text += f", of all {passed:,} of {of_all:,} ({score['success_rate_strict']:.1%})"
    return text


def _passes(passes: Mapping[str, Any]) -> Iterator[str]:
    records = f"{passes['count']:,} of {counted(passes['total_records'], 'record')}"
    yield f"{_rates(passes)}, {records}" if passes["count"] else f"no pass@{passes['k']}, {records}"
    if passes["too_few_trials_count"] and passes["strict"]["count"]:
        yield f"strictly {_rates(passes['strict'])}, {passes['strict']['count']:,} records"


def _rates(passes: Mapping[str, Any]) -> str:
    k = passes["k"]
    return (
        f"pass@1 {passes['pass_at_1']:.3f}, pass@{k} {passes['pass_at_k']:.3f}, "
        f"pass^{k} {passes['pass_power_k_observed']:.3f} "
        f"(theoretical {passes['pass_power_k_theoretical']:.3f})"
    )


def _too_few(config: Mapping[str, Any]) -> Iterator[str]:
    few, k = config["too_few_accepted_trials"], config["num_draws"]
    if k == 1 or not few:
        return
    shown = ", ".join(
        f"{record} ({trials})" for record, trials in list(few.items())[:_SHOWN_RECORDS]
    )
    more = f" and {len(few) - _SHOWN_RECORDS:,} more" if len(few) > _SHOWN_RECORDS else ""
    yield f"Fewer than {k} accepted trials: {shown}{more}"


def _judging(total: Mapping[str, Any] | None) -> Iterator[str]:
    if total is None or not total["calls"]:
        return
    cost = "an unknown sum" if total["cost_usd"] is None else f"{total['cost_usd']:.4f} US dollars"
    line = (
        f"Judging has cost {cost}: {counted(total['calls'], 'answer')} of {total['model']}, "
        f"{total['input_tokens']:,} tokens in, {total['output_tokens']:,} out"
    )
    if total["unpriced_calls"] and total["cost_usd"] is not None:
        line += f", {total['unpriced_calls']:,} of them without a known price"
    yield line
