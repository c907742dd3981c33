"""The demo agent, which writes down what callers send and crawls for as long as a file is there.

Started as `slow_agent.py --port PORT --folder FOLDER`: events go to FOLDER/agent_events.jsonl, and
the callers that are held are those whose custom parameter `held` names a file of FOLDER.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection

from orchestrator_assets.call.speech.engines import default_speech_to_text, default_text_to_speech
from orchestrator_assets.demo.agent_server import AgentServer

EVENTS_FILE = "agent_events.jsonl"
_CRAWL_SECONDS = 0.1
_NOTHING = ""


class SlowAgentServer(AgentServer):
    folder: Path

    async def _handle(self, connection: ServerConnection) -> None:
        await super()._handle(_Watched(connection, self.folder))  # type: ignore[arg-type]


class _Watched:
    def __init__(self, connection: ServerConnection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._held: Path | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def __aiter__(self) -> AsyncIterator[str]:
        arrived: asyncio.Queue[str] = asyncio.Queue()
        reading = asyncio.create_task(self._read(arrived))
        try:
            while (raw := await arrived.get()) is not _NOTHING:
                if self._held is not None and self._held.exists():
                    await asyncio.sleep(_CRAWL_SECONDS)
                yield raw
        finally:
            # What a caller sent last is there even where it was in no mood to wait for an answer.
            await asyncio.wait({reading}, timeout=_CRAWL_SECONDS)
            reading.cancel()

    async def _read(self, arrived: asyncio.Queue[str]) -> None:
        try:
            async for raw in self._connection:
                message = json.loads(raw)
                if message["event"] == "start":
                    held = message["start"]["customParameters"].get("held")
                    self._held = self._folder / held if held else None
                if message["event"] != "media":
                    self._write(message["event"])
                arrived.put_nowait(str(raw))
        finally:
            arrived.put_nowait(_NOTHING)

    def _write(self, event: str) -> None:
        held = None if self._held is None else self._held.name
        line = json.dumps({"event": event, "held": held}) + "\n"
        with (self._folder / EVENTS_FILE).open("a") as file:
            file.write(line)


async def serve(port: int, folder: Path) -> None:
    server = SlowAgentServer(default_text_to_speech(), default_speech_to_text())
    server.folder = folder
    listening = await server.listen("127.0.0.1", port)
    gone = asyncio.Event()

    def read_input() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            gone.set()
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), read_input)
    await gone.wait()
    listening.close()
    await listening.wait_closed()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.port, arguments.folder))
