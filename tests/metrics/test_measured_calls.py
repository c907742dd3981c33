"""Times measured in real calls of the demo agent, on the media clock, where they are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from placed_calls import Engines, demo_agent, place

from orchestrator_assets.audio.wav import read_wav
from orchestrator_assets.call.conversation import AGENT_AUDIO_FILE, CALLER_AUDIO_FILE
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.response_latency import ResponseLatency
from orchestrator_assets.metrics.yielding import Yielding
from orchestrator_assets.records import Record, Task

Spans = list[tuple[float, float]]

SCRIPT: list[Any] = [
    "Hello, can you tell me when my appointment is?",
    "My booking code is M3RW9.",
    "No, thank you. Goodbye.",
]
IMPATIENT: list[Any] = [
    {"say": "I want to cancel my appointment.", "barge_in_after_seconds": 1.0},
    "No, thank you. Goodbye.",
]


async def called(
    engines: Engines, directory: Path, turns: list[Any], think_ms: int
) -> Conversation:
    async with demo_agent(engines) as address:
        parameters = {"think_ms": str(think_ms)}
        await place(address, engines, directory, turns=turns, agent_parameters=parameters)
    return Conversation(Task(Record(id="talk")), directory)


def sent(directory: Path, name: str) -> Spans:
    """Where a side sent sound: between utterances, the tracks hold nothing but zeros."""
    track, _ = read_wav(directory / name)
    sounding = np.flatnonzero(track)
    (breaks,) = np.nonzero(np.diff(sounding) > 4_000)
    starts = [sounding[0], *sounding[breaks + 1]]
    ends = [*sounding[breaks], sounding[-1]]
    return [(start / 8_000, (end + 1) / 8_000) for start, end in zip(starts, ends, strict=True)]


async def test_latencies_of_a_real_call_are_measured_to_20_ms(
    engines: Engines, tmp_path: Path
) -> None:
    conversation = await called(engines, tmp_path, SCRIPT, think_ms=340)
    caller, agent = sent(tmp_path, CALLER_AUDIO_FILE), sent(tmp_path, AGENT_AUDIO_FILE)
    known = [min(start for start, _ in agent if start > end) - end for _, end in caller]
    score = ResponseLatency().compute(conversation)
    measured = [turn["latency_seconds"] for turn in score.details["per_turn"]]
    assert measured == pytest.approx(known, abs=0.02)
    # Half a second to be sure that the turn is over, and the time to think.
    assert known == pytest.approx([0.84] * 3, abs=0.05)


async def test_an_agent_that_thinks_longer_is_measured_as_slower_by_that(
    engines: Engines, tmp_path: Path
) -> None:
    scores = []
    for think_ms in (0, 1_280):
        directory = tmp_path / str(think_ms)
        directory.mkdir()
        conversation = await called(engines, directory, SCRIPT, think_ms)
        scores.append(ResponseLatency().compute(conversation).score or 0)
    assert scores[1] - scores[0] == pytest.approx(1.28, abs=0.02)


async def test_how_soon_the_agent_yields_is_measured_to_20_ms(
    engines: Engines, tmp_path: Path
) -> None:
    conversation = await called(engines, tmp_path, IMPATIENT, think_ms=200)
    caller, agent = sent(tmp_path, CALLER_AUDIO_FILE), sent(tmp_path, AGENT_AUDIO_FILE)
    known = agent[0][1] - caller[0][0]
    assert known > 0.04
    score = Yielding().compute(conversation)
    assert score.score == pytest.approx(known, abs=0.02)
    assert score.details["num_barge_ins"] == 1
