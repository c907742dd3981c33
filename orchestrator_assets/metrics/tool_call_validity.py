"""Whether the agent used its tools as they are meant to be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from orchestrator_assets.call.tool_calls import Tool, ToolCall
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation


class ToolCallValidity:
    """The share of the agent's tool calls that are valid.

    A call is valid if the agent has a tool of this name, if the arguments match its JSON Schema,
    and if the tool did not answer with an error. What the agent does not report (its tools, a
    schema, a result) is not held against it. Skipped where it called none.
    """

    name = "tool_call_validity"
    code_version = "1"
    needs = frozenset({Need.TOOL_CALLS})
    # An agent may do well after a call that failed: a diagnosis, not a verdict on the trial.
    pass_threshold = None

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score.

        Raises ValueError if a tool's `parameters` are no JSON Schema, ConversationFileError if the
        agent's report is damaged.
        """
        report = conversation.call_report
        calls = (report and report.tool_calls) or []
        if not calls:
            return MetricScore(
                name=self.name,
                skipped=True,
                details={"reason": "the agent called no tool", "num_calls": 0, "calls": []},
                version=self.code_version,
            )
        tools = _Tools(report.tools if report else None)
        verdicts = [_verdict(call, tools.fault_of(call)) for call in calls]
        num_valid = sum(verdict["valid"] for verdict in verdicts)
        score = round(num_valid / len(calls), 4)
        return MetricScore(
            name=self.name,
            score=score,
            normalized_score=score,
            details={
                "num_calls": len(calls),
                "num_valid": num_valid,
                "tools_known": report is not None and report.tools is not None,
                "calls": verdicts,
            },
            version=self.code_version,
        )


def _verdict(call: ToolCall, fault: str | None) -> dict[str, Any]:
    verdict: dict[str, Any] = {
        "name": call.name,
        "arguments": call.arguments(),
        "valid": fault is None,
    }
    if fault is not None:
        verdict["reason"] = fault
    time = (call.model_extra or {}).get("timestamp")
    return verdict if time is None else {**verdict, "timestamp": time}


class _Tools:
    """The tools an agent reports; None where it reports none."""

    def __init__(self, tools: list[Tool] | None) -> None:
        self._names = None if tools is None else sorted(tool.name for tool in tools)
        self._validators = {
            tool.name: _validator(tool) for tool in tools or () if tool.parameters is not None
        }

    def fault_of(self, call: ToolCall) -> str | None:
        """Return what is wrong with a call; None if it is valid."""
        if self._names is not None and call.name not in self._names:
            known = ", ".join(self._names) or "none"
            return f"the agent has no tool {call.name!r}; its tools: {known}"
        if (fault := self._fault_of_arguments(call)) is not None:
            return fault
        error = call.error()
        return None if error is None else f"the tool answered with an error: {error}"

    def _fault_of_arguments(self, call: ToolCall) -> str | None:
        arguments = call.arguments()
        if arguments is None:
            return None
        if not isinstance(arguments, Mapping):
            return f"the arguments are no JSON object: {arguments!r}"
        validator = self._validators.get(call.name)
        if validator is None:
            return None
        try:
            error = best_match(validator.iter_errors(arguments))
        except Unresolvable as unresolvable:
            raise ValueError(
                f"tool {call.name!r}: `parameters` refer to {unresolvable.ref!r}, which is not in "
                "them; report schemas that are complete"
            ) from unresolvable
        if error is None:
            return None
        return f"the arguments do not match the tool's schema: {error.json_path}: {error.message}"


def _validator(tool: Tool) -> Validator:
    schema = tool.parameters or {}
    checker = validator_for(schema, default=Draft202012Validator)
    try:
        checker.check_schema(schema)
    except SchemaError as error:
        raise ValueError(
            f"tool {tool.name!r}: `parameters` are no JSON Schema: {error.json_path}: "
            f"{error.message}"
        ) from error
    # An empty registry: a reference is looked up in the schema, never on the network.
    return checker(schema, registry=Registry())
