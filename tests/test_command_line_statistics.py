"""What the command line says of a whole evaluation."""

from __future__ import annotations

import io
import json
from pathlib import Path

from evaluation_fakes import write_evaluation
from rich.console import Console
from task_states import accepted, failed

from orchestrator_assets.command_line.statistics_report import print_statistics, statistics_lines
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.metrics_summary import metrics_summary
from orchestrator_assets.summary.task_state import TaskState

AGGREGATION = Aggregation(
    metrics=("task_completion", "response_latency"),
    composites={"Güte": Composite(all={"task_completion": 1.0})},
    pass_thresholds={"task_completion": 1.0, "Güte": 1.0},
)


def lines(*states: TaskState) -> list[str]:
    # As it comes back from the file.
    written = json.loads(json.dumps(metrics_summary(states, AGGREGATION)))
    return list(statistics_lines(written, AGGREGATION.metrics))


def test_means_stand_beside_their_intervals_and_denominators() -> None:
    said = [1.0, 1.0, 0.0, "error"]
    states = [
        accepted(f"r{i}", None, AGGREGATION, task_completion=each, response_latency="raw 1.5")
        for i, each in enumerate(said)
    ]

    found = lines(*states, failed("r4"))

    counts = (
        "0.667 [0, 1]; 3 of 5 scored (1 errored, 1 failed); "
        "passed 2 of 3 (66.7%), of all 2 of 5 (40.0%)"
    )
    assert found == [
        "Means over 5 tasks, with 95 % intervals by record:",
        f"  Güte              {counts}",
        f"  task_completion   {counts}",
        "  response_latency  1.50 s [1.50 s, 1.50 s]; 4 of 5 scored (1 failed)",
    ]


def test_several_trials_have_pass_rates_by_both_policies() -> None:
    whole = [accepted("a", trial, AGGREGATION, task_completion=1.0) for trial in range(2)]
    cut = [accepted("Müller", 0, AGGREGATION, task_completion=1.0), failed("Müller", 1)]

    found = lines(*whole, *cut)

    assert [line.strip() for line in found[2:4]] == [
        "pass@1 1.000, pass@2 1.000, pass^2 1.000 (theoretical 1.000), 1 of 2 records",
        "strictly pass@1 0.750, pass@2 1.000, pass^2 0.500 (theoretical 0.625), 2 records",
    ]
    assert found[-2:] == [
        "Strictly, a trial without a score has not passed, unless the metric was skipped.",
        "Fewer than 2 accepted trials: Müller (1)",
    ]


def test_no_record_with_enough_trials_is_said_too() -> None:
    cut = [accepted("a", 0, AGGREGATION, task_completion="error"), failed("a", 1)]

    assert lines(*cut)[2].strip() == "no pass@2, 0 of 1 record"


def test_one_record_is_said_to_have_no_interval_and_no_score_no_mean() -> None:
    found = lines(accepted("only", None, AGGREGATION, task_completion=1.0))

    assert found[2].endswith("1 [no interval: one record]; 1 of 1 scored; passed 1 of 1 (100.0%)")
    assert found[3].endswith("response_latency  0 of 1 scored (1 missing)")


def test_the_cost_of_judging_is_told_with_what_is_not_known_of_it() -> None:
    one = accepted("a", None, AGGREGATION, task_completion=1.0)
    priced = JudgeUse(
        model="judge-1", calls=1_500, input_tokens=30_000, output_tokens=100, cost_usd=1.5
    )
    unpriced = JudgeUse(model="judge-2", calls=1, unpriced_calls=1)
    judged = TaskState(
        one.task, one.status, judge_use={"a": [priced], "b": [unpriced]}, scores=one.scores
    )

    assert lines(judged)[-1] == (
        "Judging has cost 1.5000 US dollars: 1,501 answers of judge-1, judge-2, "
        "30,000 tokens in, 100 out, 1 of them without a known price"
    )
    assert "Judging" not in "".join(lines(one))


def test_a_judge_that_never_answered_has_cost_nothing_to_tell_of() -> None:
    one = accepted("a", None, AGGREGATION, task_completion=1.0)
    asked = TaskState(one.task, one.status, judge_use={"a": [JudgeUse(model="judge-1")]})

    assert "Judging" not in "".join(lines(asked))


def test_nothing_is_said_of_no_task_and_a_missing_summary_is_named(tmp_path: Path) -> None:
    assert lines() == []
    evaluation = load_evaluation(write_evaluation(tmp_path, ["a"]))
    output = io.StringIO()

    print_statistics(Console(file=output, width=80), evaluation)

    assert "metrics_summary.json can't be read" in output.getvalue()
