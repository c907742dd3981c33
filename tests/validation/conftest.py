"""A record and calls for it, to be filled by the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from recorded_calls import RecordedCall

from orchestrator_assets.records import Record


@pytest.fixture
def call(tmp_path: Path) -> RecordedCall:
    """A silent call of 20 s, to be filled."""
    return RecordedCall(tmp_path)


@pytest.fixture
def record() -> Record:
    """A script of three turns that ends in a question."""
    turns = ["I want to change my flight.", "My code is K7TQ2.", "Is it done?"]
    return Record.model_validate({"id": "change flight", "turns": turns})


@pytest.fixture
def follow_script(call: RecordedCall, record: Record) -> Callable[[int], RecordedCall]:
    """Lets the agent greet, and the caller say the first turns of the record, each answered."""

    def follow(turns: int) -> RecordedCall:
        call.agent_says(at=0.1, seconds=0.6)
        for index, turn in enumerate(record.turns[:turns]):
            call.caller_says(index, turn.say, at=1.0 + 4 * index)
            call.agent_says(at=3.0 + 4 * index)
        return call

    return follow
