"""Whole calls to the demo agent through a worker process, with its own speech engines."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.conversation_files import read_result, read_transcript
from orchestrator_assets.call.placing import CallPlacer
from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech
from orchestrator_assets.call.worker_pool import WorkerPool
from orchestrator_assets.demo.agent_server import AgentServer
from orchestrator_assets.evaluation import Agent, ClockKind, Evaluation
from orchestrator_assets.records import Record, Task

WAV_FILES = ("audio_user.wav", "audio_assistant.wav", "audio_mixed.wav", "audio_user_clean.wav")
TURNS = ["Hello, can you tell me when my appointment is?", "No, thank you. Goodbye."]


async def test_a_call_in_a_worker_leaves_what_a_call_in_this_process_leaves(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText, tmp_path: Path
) -> None:
    evaluation = Evaluation(
        name="test",
        data_set=Path("unused"),
        agent=Agent(url="ws://unused"),
        clock=ClockKind.MEDIA,
        conversation_time_limit_seconds=60,
        output_dir=tmp_path,
    )
    task = Task(Record.model_validate({"id": "ä/1", "turns": TURNS}))
    server = await AgentServer(text_to_speech, speech_to_text).listen("127.0.0.1", 0)
    port = next(iter(server.sockets)).getsockname()[1]
    base = f"127.0.0.1:{port}"
    address = AgentAddress(f"ws://{base}/media", f"http://{base}/calls/{{call_sid}}")
    async with server:
        here = CallPlacer(evaluation, address, text_to_speech, speech_to_text)
        await here(task, 1, tmp_path / "here", nullcontext())
        async with WorkerPool(evaluation, address) as place_call:
            directories = [tmp_path / "first", tmp_path / "second"]
            results = await asyncio.gather(
                *(place_call(task, 1, directory, nullcontext()) for directory in directories)
            )
    for directory, result in zip(directories, results, strict=True):
        assert result.completed
        assert result == read_result(directory)
        for name in WAV_FILES:
            assert (directory / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
        assert [row.content for row in read_transcript(directory)] == [
            row.content for row in read_transcript(tmp_path / "here")
        ]
        assert "ended by goodbye" in (directory / "logs.log").read_text(encoding="utf-8")
        assert (directory / "final_scenario_db.json").exists()
