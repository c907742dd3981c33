"""Calls without speech engines, and an agent that echoes every frame: for measuring the rest."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.placing import CallPlacer
from orchestrator_assets.call.speech.base import Samples, Voice
from orchestrator_assets.evaluation import Agent, Caller, Evaluation
from orchestrator_assets.records import Record, Task

_TURNS = [f"Turn {number} of a caller who never says goodbye." for number in range(20)]


class Tone:
    """Text to speech: two seconds of a tone, whatever the text."""

    def synthesize(self, text: str, voice: Voice, sample_rate_hz: int) -> Samples:
        """Return the tone."""
        phase = np.arange(2 * sample_rate_hz) * 2 * np.pi * 300 / sample_rate_hz
        return (3_000 * np.sin(phase)).astype(np.int16)


class Deaf:
    """Speech to text: nothing, ever."""

    sample_rate_hz = 16_000

    def transcribe(self, samples: Samples) -> str:
        """Return nothing."""
        return ""


def tone_placer(evaluation: Evaluation, address: AgentAddress) -> CallPlacer:
    """Return a placer without speech engines."""
    return CallPlacer(evaluation, address, Tone(), Deaf())


def evaluation_of(calls: int, seconds: float, output_dir: Path) -> Evaluation:
    """Return an evaluation whose calls all last until their time limit."""
    return Evaluation(
        name=f"calls_{calls}",
        data_set=Path("unused"),
        agent=Agent(url="ws://unused"),
        caller=Caller(inactivity_timeout_seconds=seconds + 60),
        conversation_time_limit_seconds=seconds,
        max_concurrent_conversations=calls,
        output_dir=output_dir,
    )


def task(number: int) -> Task:
    """Return one of many equal tasks."""
    return Task(Record.model_validate({"id": f"call_{number}", "turns": _TURNS}))


@contextmanager
def echoing_agent() -> Iterator[AgentAddress]:
    """Run the agent in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run_agent, args=(sender,), daemon=True)
    process.start()
    try:
        yield AgentAddress(f"ws://127.0.0.1:{receiver.recv()}")
    finally:
        process.terminate()
        process.join()


def _run_agent(port_to: Connection) -> None:
    asyncio.run(_listen(port_to))


async def _listen(port_to: Connection) -> None:
    async with serve(_echo, "127.0.0.1", 0, compression=None) as server:
        port_to.send(next(iter(server.sockets)).getsockname()[1])
        await asyncio.Event().wait()


async def _echo(connection: ServerConnection) -> None:
    try:
        async for raw in connection:
            message = json.loads(raw)
            if message["event"] == "media":
                media = {"payload": message["media"]["payload"]}
                reply = {"event": "media", "streamSid": message["streamSid"], "media": media}
                await connection.send(json.dumps(reply))
    except ConnectionClosed:
        return
