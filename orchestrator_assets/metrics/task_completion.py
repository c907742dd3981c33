"""Whether the agent's world is, after the call, as the record says it should be."""

from __future__ import annotations

from typing import Any

from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.json_pointer import with_changes
from orchestrator_assets.metrics.state_comparison import (
    StateDifference,
    wrong_changes,
    wrong_state,
)
from orchestrator_assets.records import ExpectedOutcome


class TaskCompletion:
    """1.0 if the final state is the expected one, else 0.0; skipped if the record expects nothing.

    With `changes`, the differences between the initial and the final state must be exactly those;
    with `state`, the final state must be that one by EVA's rules (see `wrong_state`).
    """

    name = "task_completion"
    code_version = "1"
    # Not the state: a record that expects one and an agent that gives none is an error.
    needs: frozenset[Need] = frozenset()
    pass_threshold = 1.0

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError for a damaged state."""
        record = conversation.task.record
        expected = record.expected_outcome
        if expected is None:
            return MetricScore(
                name=self.name,
                skipped=True,
                details={"reason": "the record has no expected_outcome"},
                version=self.code_version,
            )
        final = conversation.final_state
        if final is None:
            return self._error("the agent gave no final state (agent.call_report_url)")
        initial = conversation.initial_state
        if initial is None and expected.changes is not None:
            return self._error("the agent gave no initial state (agent.call_report_url)")
        try:
            wrong = _wrong(expected, initial, final)
        except ValueError as error:
            return self._error(f"record {record.id!r}, expected_outcome.changes: {error}")
        return self._score(wrong)

    def _score(self, wrong: list[StateDifference]) -> MetricScore:
        score = 0.0 if wrong else 1.0
        by_kind: dict[str, list[dict[str, Any]]] = {
            "missing": [],
            "unexpected": [],
            "different": [],
        }
        for difference in wrong:
            by_kind[difference.kind].append(difference.as_details())
        found = ", ".join(f"{len(values)} {kind}" for kind, values in by_kind.items() if values)
        reason = f"the final state is wrong: {found}" if wrong else "the final state is as expected"
        return MetricScore(
            name=self.name,
            score=score,
            normalized_score=score,
            details={"match": not wrong, "reason": reason, **by_kind},
            version=self.code_version,
        )

    def _error(self, message: str) -> MetricScore:
        return MetricScore(name=self.name, error=message, version=self.code_version)


def _wrong(
    expected: ExpectedOutcome, initial: dict[str, Any] | None, final: dict[str, Any]
) -> list[StateDifference]:
    if expected.changes is None:
        return wrong_state(expected.state or {}, final, initial)
    initial = initial or {}
    return wrong_changes(with_changes(initial, expected.changes), final, initial)
