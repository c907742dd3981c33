"""Real calls for tests: the demo agent in this process, and a caller that dials it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.call.placing import CallPlacer
from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech
from orchestrator_assets.demo.agent_server import AgentServer
from orchestrator_assets.evaluation import Agent, ClockKind, Evaluation
from orchestrator_assets.records import Record, Task

Engines = tuple[TextToSpeech, SpeechToText]

WAV_FILES = ("audio_user.wav", "audio_assistant.wav", "audio_mixed.wav", "audio_user_clean.wav")
SHORT_SCRIPT = ["Hello, can you tell me when my appointment is?", "No, thank you. Goodbye."]


@asynccontextmanager
async def demo_agent(engines: Engines) -> AsyncIterator[AgentAddress]:
    server = await AgentServer(*engines).listen("127.0.0.1", 0)
    port = next(iter(server.sockets)).getsockname()[1]
    async with server:
        yield AgentAddress(
            f"ws://127.0.0.1:{port}/media", f"http://127.0.0.1:{port}/calls/{{call_sid}}"
        )


async def place(
    address: AgentAddress,
    engines: Engines,
    directory: Path,
    *,
    turns: list[Any] = SHORT_SCRIPT,
    clock: ClockKind = ClockKind.MEDIA,
    limit: float = 60,
    attempt: int = 1,
    **record: Any,
) -> ConversationResult:
    evaluation = Evaluation(
        name="test",
        data_set=Path("unused"),
        agent=Agent(url="ws://unused"),
        clock=clock,
        conversation_time_limit_seconds=limit,
    )
    task = Task(Record.model_validate({"id": "ä/1", "turns": turns, **record}))
    placer = CallPlacer(evaluation, address, *engines)
    return await placer(task, attempt, directory, nullcontext())


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
