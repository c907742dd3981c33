"""What the UI shows of the statistics of an evaluation."""

from __future__ import annotations

from typing import Any

import dagster as dg
from task_states import accepted, failed, unjudged

from orchestrator_assets.dagster_assets.statistics_metadata import statistics_metadata
from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.metrics_summary import metrics_summary
from orchestrator_assets.summary.task_state import TaskState

AGGREGATION = Aggregation(
    metrics=("task_completion", "faithfulness"),
    composites={"EVA-A_pass": Composite(all={"task_completion": 1.0})},
    pass_thresholds={"task_completion": 1.0, "EVA-A_pass": 1.0},
)


def shown(*states: TaskState) -> dict[str, Any]:
    metadata = statistics_metadata(metrics_summary(states, AGGREGATION), AGGREGATION.metrics)
    # Dagster must take all of it.
    event = dg.AssetMaterialization("any", metadata=metadata)
    return {name: value.value for name, value in event.metadata.items()}


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")[2:]]


def test_scores_are_a_table_with_denominators_composites_first() -> None:
    states = [accepted("a", None, AGGREGATION, task_completion=1.0, faithfulness="error")]
    states += [accepted("b", None, AGGREGATION, task_completion=0.0), unjudged("c"), failed("d")]

    found = shown(*states)

    left_out = "1 failed, 1 unjudged"
    assert rows(found["scores"]) == [
        [
            "EVA-A\\_pass",
            "0.500",
            "0.000 to 1.000",
            "2 of 4",
            left_out,
            "1 of 2 (50.0%)",
            "1 of 4 (25.0%)",
        ],
        [
            "task\\_completion",
            "0.500",
            "0.000 to 1.000",
            "2 of 4",
            left_out,
            "1 of 2 (50.0%)",
            "1 of 4 (25.0%)",
        ],
        ["faithfulness", "", "", "0 of 4", f"1 errored, 1 missing, {left_out}", "", ""],
    ]
    numbers = {name: found[f"scores_{name}"] for name in ("errored", "missing", "unjudged")}
    assert numbers == {"errored": 1, "missing": 1, "unjudged": 3}
    assert found["EVA-A_pass"] == 0.5
    assert "pass_at_k" not in found
    assert "judge_usage" not in found


def test_with_several_trials_every_k_has_a_row_by_each_policy() -> None:
    whole = [accepted("a", trial, AGGREGATION, task_completion=1.0) for trial in range(2)]
    cut = [accepted("ü|b", 0, AGGREGATION, task_completion=0.0), failed("ü|b", 1)]

    found = shown(*whole, *cut)

    of_composite = rows(found["pass_at_k"])[:4]
    assert [row[1:] for row in of_composite] == [
        ["1", "scored", "0.500", "0.500", "0.500", "2 of 2"],
        ["2", "scored", "1.000", "1.000", "1.000", "1 of 2"],
        ["1", "all tasks", "0.500", "0.500", "0.500", "2 of 2"],
        ["2", "all tasks", "0.500", "0.500", "0.500", "2 of 2"],
    ]
    assert "ü\\|b" in found["records_with_too_few_trials"]
    assert (found["EVA-A_pass_pass_at_2"], found["EVA-A_pass_pass_power_2"]) == (1.0, 1.0)


def test_what_judging_cost_plots_over_time() -> None:
    one = accepted("a", None, AGGREGATION, task_completion=1.0)
    use = JudgeUse(model="judge", calls=2, input_tokens=7, output_tokens=3, cost_usd=0.5)
    judged = TaskState(one.task, one.status, scores=one.scores, judge_use={"faithfulness": [use]})

    found = shown(judged)

    assert (found["judge_cost_usd"], found["judge_calls"]) == (0.5, 2)
    assert rows(found["judge_usage"]) == [
        [name, "judge", "2", "7", "3", "0.5000", "0"] for name in ("faithfulness", "total")
    ]
