"""The closing table."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from orchestrator_assets.attempts.outcomes import (
    Acceptance,
    AttemptSummary,
    Cause,
    Outcome,
    TaskOutcome,
)
from orchestrator_assets.command_line.report import print_outcomes
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.records import Record, Task
from orchestrator_assets.summary.aggregation import Aggregation

SCORES = {
    "task_completion": MetricScore(name="task_completion", score=1.0, normalized_score=1.0),
    "response_latency": MetricScore(name="response_latency", score=1.2345),
}
LONG = Task(Record(id="Jürgen Müller: später, bitte"))
FAILED = Task(Record(id="[failed]"))
UNFINISHED = Task(Record(id="unfinished"))


def attempt(outcome: Outcome, cause: Cause | None = None) -> AttemptSummary:
    return AttemptSummary(1, outcome, cause, None, 75.0, "reason", Path("x"))


def shown(
    width: int,
    *,
    metrics: dict[str, MetricScore] | None = SCORES,
    aggregation: Aggregation | None = None,
) -> list[str]:
    accepted = TaskOutcome(
        LONG,
        Acceptance.TIME_LIMIT,
        (attempt(Outcome.TIME_LIMIT_EXCEEDED),),
        1,
        accepted_attempt=1,
        metrics=metrics,
    )
    failed = TaskOutcome(FAILED, None, (attempt(Outcome.VALIDATION_FAILED, Cause.CALLER),), 1)
    output = io.StringIO()
    console = Console(file=output, width=width)
    print_outcomes(console, [LONG, FAILED, UNFINISHED], [failed, accepted], aggregation)
    return output.getvalue().splitlines()


def test_scores_are_columns_with_their_units_at_120_columns() -> None:
    lines = shown(120)

    assert max(map(len, lines)) <= 120
    row = next(line for line in lines if "Jürgen" in line)
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "Jürgen Müller: später, bitte",
        "1",
        "time_limit_exceeded",
        "time_limit",
        "75.0 s",
        "1.23 s",
        "1",
    ]
    assert "response" in lines[1]
    assert "latency" in lines[2]
    assert lines[-1] == "1 of 3 tasks accepted."


def test_scores_are_left_out_where_there_is_no_room_for_them() -> None:
    lines = shown(92)

    assert max(map(len, lines)) <= 92
    assert "latency" not in "".join(lines)
    assert lines[-2] == "2 scores of each task did not fit; results.csv has them all."
    assert any("Jürgen Müller: später, bitte" in line for line in lines)


def test_a_score_that_could_not_be_had_says_so() -> None:
    errored = {"task_completion": MetricScore(name="task_completion", error="no state")}

    row = next(line for line in shown(120, metrics=errored) if "Jürgen" in line)

    assert row.split("|")[-2].strip() == "error"


def test_without_scores_the_table_is_as_it_was() -> None:
    assert "completion" not in "".join(shown(120, metrics=None))


def test_composites_come_first_then_the_evaluations_first_metrics_as_many_as_fit() -> None:
    names = [f"metric_{letter}" for letter in "onmlkjihgfedcba"]
    metrics = {
        name: MetricScore(name=name, score=0.5, normalized_score=0.5) for name in sorted(names)
    }
    aggregation = Aggregation(
        metrics=tuple(names), composites={"EVA-A_pass": Composite(all={"metric_o": 1.0})}
    )

    lines = shown(140, metrics=metrics, aggregation=aggregation)

    assert max(map(len, lines)) <= 140
    headings = [cell.strip() for cell in lines[2].strip("|").split("|")][5:]
    assert headings == ["pass", "o", "n", "m", "l"]
    row = next(line for line in lines if "Jürgen" in line)
    assert [cell.strip() for cell in row.strip("|").split("|")][5:] == ["0", *["0.5"] * 4]
    assert lines[-2] == "11 scores of each task did not fit; results.csv has them all."


def test_a_composite_that_could_not_be_had_says_so() -> None:
    errored = {"task_completion": MetricScore(name="task_completion", error="no state")}
    composites = {"good": Composite(all={"task_completion": 1.0})}

    lines = shown(120, metrics=errored, aggregation=Aggregation(composites=composites))

    row = next(line for line in lines if "Jürgen" in line)
    assert [cell.strip() for cell in row.split("|")][-3:-1] == ["error", "error"]
