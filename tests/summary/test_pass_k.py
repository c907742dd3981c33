"""pass@k over the records of a data set: no k shrinks, and nobody drops out unseen."""

from __future__ import annotations

from typing import Any

import pytest
from task_states import Said, accepted, failed, pending, unjudged

from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.metrics_summary import metrics_summary
from orchestrator_assets.summary.task_state import TaskState

AGGREGATION = Aggregation(
    metrics=("m",),
    composites={"both": Composite(all={"m": 0.5})},
    pass_thresholds={"m": 0.5, "both": 1.0},
)


def trials(record: str, *said: Said) -> list[TaskState]:
    return [accepted(record, trial, AGGREGATION, m=each) for trial, each in enumerate(said)]


def passes(*states: TaskState) -> dict[str, Any]:
    return dict(metrics_summary(states, AGGREGATION)["per_metric"]["m"]["pass_k"])


def test_rates_are_averaged_over_the_records() -> None:
    found = passes(*trials("Ä", 1.0, 1.0, 0.0), *trials("b", 0.5, 0.0, 0.0))

    assert found["k"] == 3
    assert found["threshold"] == 0.5
    assert (found["pass_at_1"], found["pass_at_1_count"]) == (0.5, 2)
    assert (found["pass_at_k"], found["pass_power_k_observed"]) == (1.0, 0.0)
    # (2/3)^3 and (1/3)^3.
    assert found["pass_power_k_theoretical"] == pytest.approx((8 / 27 + 1 / 27) / 2)
    pairs = found["by_k"][1]
    assert (pairs["k"], pairs["count"]) == (2, 2)
    # Of three pairs, the first record passes at least once in all, the second in two.
    assert pairs["pass_at_k"] == pytest.approx((1 + 2 / 3) / 2)
    assert pairs["pass_power_k_observed"] == pytest.approx((1 / 3 + 0) / 2)


def test_a_surviving_trial_does_not_stand_for_those_that_are_lost() -> None:
    states = [*trials("whole", 1.0, 0.0, 0.0), accepted("lost", 0, m=1.0), failed("lost", 1)]

    found = passes(*states, failed("lost", 2))

    assert (found["count"], found["too_few_trials_count"], found["total_records"]) == (1, 1, 2)
    assert found["pass_power_k_observed"] == 0.0
    assert [row["count"] for row in found["by_k"]] == [2, 1, 1]
    assert found["pass_at_1"] == pytest.approx((1 / 3 + 1) / 2)


def test_records_are_named_with_the_trials_they_have() -> None:
    states = [
        *trials("errored", 1.0, "error", "none"),
        *trials("skipped", "skipped", 1.0, 1.0),
        *trials("whole", 1.0, 1.0, 1.0),
        accepted("Müller", 0, m=1.0),
        failed("Müller", 1),
        unjudged("Müller", 2),
        *(pending("never", trial) for trial in range(3)),
    ]

    written = metrics_summary(states, AGGREGATION)

    found = written["per_metric"]["m"]["pass_k"]
    assert written["pass_at_k_config"]["too_few_accepted_trials"] == {"Müller": 1, "never": 0}
    assert found["too_few_scored_trials"] == {"errored": 1, "skipped": 2}
    assert (found["count"], found["too_few_trials_count"]) == (1, 4)


def test_by_the_strict_policy_what_has_no_score_has_not_passed() -> None:
    states = [
        *trials("errored", 1.0, 1.0, "error"),
        *trials("whole", 1.0, 1.0, 1.0),
        accepted("missing", 0, m=1.0),
        accepted("missing", 1),
        unjudged("missing", 2),
        failed("failed", 0),
        failed("failed", 1),
        pending("failed", 2),
    ]

    found = passes(*states)

    assert (found["count"], found["pass_at_k"], found["pass_power_k_observed"]) == (1, 1.0, 1.0)
    strict = found["strict"]
    assert (strict["count"], strict["k"], strict["too_few_trials_count"]) == (4, 3, 0)
    assert strict["pass_at_1"] == pytest.approx((2 / 3 + 1 + 1 / 3 + 0) / 4)
    assert (strict["pass_at_k"], strict["pass_power_k_observed"]) == (0.75, 0.25)
    assert strict["pass_power_k_theoretical"] == pytest.approx((8 / 27 + 1 + 1 / 27) / 4)


def test_a_skipped_trial_is_held_against_nobody() -> None:
    found = passes(*trials("a", 1.0, 1.0, "skipped"), *trials("b", *["skipped"] * 3))

    strict = found["strict"]
    assert (strict["count"], strict["pass_at_k"]) == (0, None)
    assert (strict["pass_at_1"], strict["pass_at_1_count"]) == (1.0, 1)


def test_composites_keep_to_the_same_rules() -> None:
    states = [*trials("a", 1.0, 0.0), *trials("b", 1.0, "error")]

    found = metrics_summary(states, AGGREGATION)["overall_scores"]["pass_k"]["both"]

    assert (found["k"], found["count"], found["too_few_scored_trials"]) == (2, 1, {"b": 1})
    assert (found["pass_at_1"], found["pass_at_k"]) == (0.75, 1.0)
    assert found["strict"]["pass_power_k_observed"] == 0.0


def test_the_rates_have_intervals_by_record() -> None:
    always, never = trials("a", 1.0, 1.0), trials("b", 0.0, 0.0)

    found = passes(*always, *never)

    for rate in ("pass_at_1", "pass_at_k", "pass_power_k_observed"):
        assert (found[f"{rate}_ci_lower"], found[f"{rate}_ci_upper"]) == (0.0, 1.0)
    alone = passes(*always)
    assert (alone["pass_at_1_ci_lower"], alone["pass_at_k_ci_upper"]) == (None, None)


def test_with_one_trial_k_is_one() -> None:
    found = passes(accepted("a", m=1.0), accepted("b", m=0.0), accepted("c", m="error"))

    assert (found["k"], found["count"], found["pass_at_1"], found["pass_at_k"]) == (1, 2, 0.5, 0.5)
    assert found["strict"]["pass_at_1"] == pytest.approx(1 / 3)
    assert len(found["by_k"]) == 1
