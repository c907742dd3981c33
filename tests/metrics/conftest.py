from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_tracks import HZ, Spans, track_of, voiced_noise

from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.conversation import AGENT_AUDIO_FILE, CALLER_AUDIO_FILE
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.records import Record, Task


@pytest.fixture
def speaking(tmp_path: Path) -> Callable[..., Conversation]:
    """Makes a conversation in which each side speaks from and to the given seconds."""

    def make(caller: Spans, agent: Spans) -> Conversation:
        for name, spans in ((CALLER_AUDIO_FILE, caller), (AGENT_AUDIO_FILE, agent)):
            track = track_of([(start, voiced_noise(end - start)) for start, end in spans])
            with WavWriter(tmp_path / name, HZ) as file:
                file.append(track)
        return Conversation(Task(Record(id="talk")), tmp_path)

    return make


@pytest.fixture
def with_states(tmp_path: Path) -> Callable[..., Conversation]:
    """Makes a conversation with an expected outcome and the agent's states."""

    def make(
        expected: dict[str, Any] | None,
        *,
        initial: dict[str, Any] | None = None,
        final: dict[str, Any] | None = None,
    ) -> Conversation:
        for name, state in (
            ("initial_scenario_db.json", initial),
            ("final_scenario_db.json", final),
        ):
            if state is not None:
                (tmp_path / name).write_text(json.dumps(state), encoding="utf-8")
        record = Record.model_validate({"id": "book", "expected_outcome": expected})
        return Conversation(Task(record), tmp_path)

    return make
