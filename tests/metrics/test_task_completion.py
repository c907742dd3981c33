from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.task_completion import TaskCompletion

Make = Callable[..., Conversation]

INITIAL = {"orders": {"A/1": {"status": "open", "qty": 2}}, "credits": {"C1": 5}, "log": []}


def after(**changes: Any) -> dict[str, Any]:
    return {**INITIAL, **changes}


def test_exactly_the_expected_changes_complete_the_task(with_states: Make) -> None:
    expected = {"changes": {"/orders/A~11/status": "cancelled", "/credits/C1": None}}
    final = after(orders={"A/1": {"status": "cancelled", "qty": 2}}, credits={})
    score = TaskCompletion().compute(with_states(expected, initial=INITIAL, final=final))
    assert (score.score, score.normalized_score) == (1.0, 1.0)
    assert score.details["missing"] == score.details["unexpected"] == []
    assert score.version


def test_an_object_may_be_expected_whole_or_member_by_member(with_states: Make) -> None:
    final = after(bookings={"K7": {"seat": "1A", "meal": None}})
    for changes in (
        {"/bookings": {"K7": {"seat": "1A"}}},
        {"/bookings/K7": {"seat": "1A"}},
        {"/bookings/K7/seat": "1A"},
    ):
        conversation = with_states({"changes": changes}, initial=INITIAL, final=final)
        assert TaskCompletion().compute(conversation).score == 1.0


def test_what_is_missing_unexpected_and_different_is_told_apart(with_states: Make) -> None:
    expected = {"changes": {"/orders/A~11/status": "cancelled", "/credits/C1": 7}}
    final = after(orders={"A/1": {"status": "open", "qty": 3}}, credits={"C1": 6, "C2": 1})
    score = TaskCompletion().compute(with_states(expected, initial=INITIAL, final=final))
    assert score.score == 0.0
    details = score.details
    assert details["missing"] == [
        {"pointer": "/orders/A~11/status", "expected": "cancelled", "actual": "open"}
    ]
    assert details["unexpected"] == [
        {"pointer": "/credits/C2", "actual": 1},
        {"pointer": "/orders/A~11/qty", "expected": 2, "actual": 3},
    ]
    assert details["different"] == [{"pointer": "/credits/C1", "expected": 7, "actual": 6}]
    assert details["reason"] == "the final state is wrong: 1 missing, 2 unexpected, 1 different"


def test_no_change_at_all_can_be_what_is_expected(with_states: Make) -> None:
    nothing: dict[str, Any] = {"changes": {}}
    metric = TaskCompletion()
    assert metric.compute(with_states(nothing, initial=INITIAL, final=INITIAL)).score == 1.0
    final = after(log=["called"])
    assert metric.compute(with_states(nothing, initial=INITIAL, final=final)).score == 0.0


def test_true_is_not_one(with_states: Make) -> None:
    expected = {"changes": {"/paid": True}}
    conversation = with_states(expected, initial=INITIAL, final=after(paid=1))
    assert TaskCompletion().compute(conversation).score == 0.0


def test_a_whole_state_is_compared_by_evas_rules(with_states: Make) -> None:
    expected = {
        "fare": 100.0,
        "meal": "none",
        "bookings": [{"id": 2}, {"id": 1}],
        "session": {"last_name": "Byte"},
    }
    final = {
        "fare": 100,
        "meal": None,
        "bookings": [{"id": 1}, {"id": 2}],
        "session": {"last_name": "byte", "code": "K7TQ2"},
    }
    assert TaskCompletion().compute(with_states({"state": expected}, final=final)).score == 1.0


@pytest.mark.parametrize(
    ("final", "kind", "pointer"),
    [
        ({"fare": 1.5, "session": {"name": "a"}}, "different", "/fare"),
        ({"fare": 1}, "missing", "/session/name"),
        ({"fare": 1, "session": {"name": "b"}}, "different", "/session/name"),
        ({"session": {"name": "a"}}, "missing", "/fare"),
        ({"fare": 1, "extra": 0, "session": {"name": "a"}}, "unexpected", "/extra"),
    ],
)
def test_what_evas_rules_do_not_excuse_fails(
    with_states: Make, final: dict[str, Any], kind: str, pointer: str
) -> None:
    expected = {"state": {"fare": 1, "session": {"name": "a"}}}
    score = TaskCompletion().compute(with_states(expected, final=final))
    assert score.score == 0.0
    assert [value["pointer"] for value in score.details[kind]] == [pointer]


def test_the_order_of_other_lists_matters(with_states: Make) -> None:
    conversation = with_states({"state": {"queue": [1, 2]}}, final={"queue": [2, 1]})
    score = TaskCompletion().compute(conversation)
    assert [value["pointer"] for value in score.details["different"]] == ["/queue/0", "/queue/1"]


def test_a_record_that_expects_nothing_is_skipped(with_states: Make) -> None:
    score = TaskCompletion().compute(with_states(None, final=INITIAL))
    assert score.skipped
    assert score.score is None


def test_an_agent_that_gave_no_final_state_is_an_error_that_says_what_to_do(
    with_states: Make,
) -> None:
    score = TaskCompletion().compute(with_states({"state": {}}, initial=INITIAL))
    assert score.error == "the agent gave no final state (agent.call_report_url)"
    assert score.score is None


def test_changes_need_an_initial_state(with_states: Make) -> None:
    score = TaskCompletion().compute(with_states({"changes": {}}, final=INITIAL))
    assert score.error == "the agent gave no initial state (agent.call_report_url)"


def test_a_change_the_initial_state_has_no_place_for_names_the_record(with_states: Make) -> None:
    conversation = with_states({"changes": {"/gone": None}}, initial=INITIAL, final=INITIAL)
    score = TaskCompletion().compute(conversation)
    assert score.error is not None
    assert score.error.startswith("record 'book', expected_outcome.changes: '/gone'")


def test_a_damaged_state_is_named(with_states: Make) -> None:
    conversation = with_states({"state": {}}, final={})
    (conversation.directory / "final_scenario_db.json").write_text("{", encoding="utf-8")
    with pytest.raises(ConversationFileError, match=r"final_scenario_db\.json: is not JSON"):
        TaskCompletion().compute(conversation)


def test_a_real_final_state_equals_itself_and_differs_from_its_initial_state(
    with_states: Make, eva_data: Path
) -> None:
    directory = eva_data / "run/records/1.1.2"
    initial = json.loads((directory / "initial_scenario_db.json").read_text(encoding="utf-8"))
    final = json.loads((directory / "final_scenario_db.json").read_text(encoding="utf-8"))
    metric = TaskCompletion()
    reached = metric.compute(with_states({"state": final}, initial=initial, final=final))
    assert reached.score == 1.0
    untouched = metric.compute(with_states({"state": final}, initial=initial, final=initial))
    assert untouched.score == 0.0
    assert untouched.details["missing"]
    assert untouched.details["unexpected"] == untouched.details["different"] == []
