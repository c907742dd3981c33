from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from told_calls import eva_call, told_call

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.tool_call_validity import ToolCallValidity

MOVE = {
    "name": "move",
    "parameters": {
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z0-9]{5}$"},
            "day": {"$ref": "#/$defs/day"},
        },
        "required": ["code"],
        "additionalProperties": False,
        "$defs": {"day": {"enum": ["Monday", "Tuesday"]}},
    },
}


def score_of(tmp_path: Path, calls: Any, tools: Any = (MOVE,)) -> MetricScore:
    report = {"tool_calls": calls, "tools": None if tools is None else list(tools)}
    return ToolCallValidity().compute(told_call(tmp_path, report=report))


def fault_of(tmp_path: Path, call: dict[str, Any], tools: Any = (MOVE,)) -> str | None:
    (verdict,) = score_of(tmp_path, [call], tools).details["calls"]
    assert verdict["valid"] == ("reason" not in verdict)
    reason: str | None = verdict.get("reason")
    return reason


@pytest.mark.parametrize("field", ["arguments", "parameters", "args", "input"])
@pytest.mark.parametrize("write", [dict, json.dumps])
def test_arguments_are_understood_however_they_are_reported(
    tmp_path: Path, field: str, write: Any
) -> None:
    assert fault_of(tmp_path, {"name": "move", field: write({"code": "K7TQ2"})}) is None
    wrong = fault_of(tmp_path, {"name": "move", field: write({"code": "K7"})})
    assert wrong is not None
    assert "$.code: 'K7' does not match" in wrong


def test_openais_nested_shape_is_understood(tmp_path: Path) -> None:
    tool = {"type": "function", "function": MOVE}
    good = {"name": "move", "arguments": '{"code": "K7TQ2", "day": "Monday"}'}
    bad = {"name": "move", "arguments": '{"code": "K7TQ2", "day": "Sunday"}'}
    calls = [{"id": "call_1", "type": "function", "function": each} for each in (good, bad)]
    score = score_of(tmp_path, calls, [tool])
    assert score.score == score.normalized_score == 0.5
    first, second = score.details["calls"]
    assert first == {
        "name": "move",
        "arguments": {"code": "K7TQ2", "day": "Monday"},
        "valid": True,
    }
    assert "$.day: 'Sunday' is not one of" in second["reason"]


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ({"name": "fly", "arguments": {}}, "the agent has no tool 'fly'; its tools: move"),
        ({"name": "move", "arguments": {}}, "$: 'code' is a required property"),
        ({"name": "move", "arguments": None}, "$: 'code' is a required property"),
        ({"name": "move", "arguments": ""}, "$: 'code' is a required property"),
        ({"name": "move", "arguments": {"code": "K7TQ2", "x": 1}}, "'x' was unexpected"),
        ({"name": "move", "arguments": "K7TQ2"}, "the arguments are no JSON object: 'K7TQ2'"),
        ({"name": "move", "arguments": '["K7TQ2"]'}, "the arguments are no JSON object"),
    ],
)
def test_a_call_that_does_not_fit_its_tool_is_invalid(
    tmp_path: Path, call: dict[str, Any], fault: str
) -> None:
    found = fault_of(tmp_path, call)
    assert found is not None
    assert fault in found


GOOD = {"name": "move", "arguments": {"code": "K7TQ2"}}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"error": "no such booking"}, "no such booking"),
        ({"result": {"status": "error", "message": "no such booking"}}, "no such booking"),
        ({"response": {"status": "error", "error": {"code": 4}}}, '{"code": 4}'),
        ({"output": '{"status": "error"}'}, "the tool answered with an error"),
        ({"status": "error"}, "the tool answered with an error"),
        ({"result": {"isError": True, "message": "down"}}, "down"),
    ],
)
def test_a_tool_that_answers_with_an_error_makes_the_call_invalid(
    tmp_path: Path, answer: dict[str, Any], fault: str
) -> None:
    found = fault_of(tmp_path, {**GOOD, **answer})
    assert found is not None
    assert found.startswith("the tool answered with an error")
    assert found.endswith(fault)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"result": None},
        {"result": "an error was not found"},
        {"result": {"status": "success", "error": None}},
        {"result": {"is_error": False, "error": ""}},
        {"result": [{"status": "error"}]},
        {"status": "completed"},
    ],
)
def test_any_other_answer_is_no_error(tmp_path: Path, answer: dict[str, Any]) -> None:
    assert fault_of(tmp_path, {**GOOD, **answer}) is None


def test_what_the_agent_does_not_report_is_not_held_against_it(tmp_path: Path) -> None:
    assert fault_of(tmp_path, {"name": "fly", "arguments": {"to": 1}}, tools=None) is None
    assert fault_of(tmp_path, {"name": "fly", "arguments": {"to": 1}}, [{"name": "fly"}]) is None
    assert fault_of(tmp_path, {"name": "move"}) is None


def test_an_agent_that_reports_to_have_no_tools_can_call_none(tmp_path: Path) -> None:
    fault = fault_of(tmp_path, {"name": "fly"}, tools=[])
    assert fault == "the agent has no tool 'fly'; its tools: none"


def test_the_score_is_the_share_of_valid_calls(tmp_path: Path) -> None:
    score = score_of(tmp_path, [GOOD, GOOD, {"name": "fly"}])
    assert score.score == score.normalized_score == 0.6667
    assert (score.details["num_calls"], score.details["num_valid"]) == (3, 2)


def test_an_agent_that_called_no_tool_is_skipped(tmp_path: Path) -> None:
    score = score_of(tmp_path, [])
    assert score.skipped
    assert score.score is None
    assert score.details["reason"] == "the agent called no tool"


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "strin"}, r"tool 'move': `parameters` are no JSON Schema: \$\.type: 'strin'"),
        ({"$ref": "#/$defs/x"}, r"refer to '/\$defs/x', which is not in them"),
    ],
)
def test_a_schema_that_cannot_be_used_is_an_error_that_names_its_tool(
    tmp_path: Path, schema: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        score_of(tmp_path, [GOOD], [{"name": "move", "parameters": schema}])


@pytest.fixture
def schema_server() -> Iterator[tuple[str, list[str]]]:
    """The URL of a schema that takes anything, and the paths it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/x.json", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_what_a_schema_refers_to_is_never_fetched(
    tmp_path: Path, schema_server: tuple[str, list[str]]
) -> None:
    url, asked = schema_server
    with pytest.raises(ValueError, match="which is not in them"):
        score_of(tmp_path, [GOOD], [{"name": "move", "parameters": {"$ref": url}}])
    assert asked == []


def test_the_calls_of_a_real_run_of_evas_are_valid(eva_data: Path) -> None:
    score = ToolCallValidity().compute(eva_call(eva_data))
    assert score.score == 1.0
    assert [call["name"] for call in score.details["calls"]] == [
        "get_reservation",
        "search_rebooking_options",
        "search_rebooking_options",
        "rebook_flight",
        "assign_seat",
    ]
    assert not score.details["tools_known"]
