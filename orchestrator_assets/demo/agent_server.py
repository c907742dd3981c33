"""The demo agent's server: Twilio Media Streams over WebSocket, and call reports over HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import signal
import sys
from collections import OrderedDict
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection
from websockets.asyncio.server import serve as serve_websocket
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech
from orchestrator_assets.call.speech.engines import default_speech_to_text, default_text_to_speech
from orchestrator_assets.call.transports.twilio import LOCKSTEP_PARAMETER, TICK_PREFIX
from orchestrator_assets.demo.agent_call import AgentCall
from orchestrator_assets.demo.clinic_tools import INSTRUCTIONS, TOOLS

_REPORT_PATH = "/calls/"
_REPORTS_KEPT = 1_000
_MARK = "reply"

logger = logging.getLogger(__name__)


class AgentServer:
    """Answers calls on `/media` and reports on them on `/calls/<call sid>`."""

    def __init__(self, text_to_speech: TextToSpeech, speech_to_text: SpeechToText) -> None:
        self._text_to_speech = text_to_speech
        self._speech_to_text = speech_to_text
        self._calls: OrderedDict[str, AgentCall] = OrderedDict()

    async def listen(self, host: str, port: int) -> Server:
        """Start listening. Raises OSError if the address is taken."""
        return await serve_websocket(
            self._handle, host, port, process_request=self._report, compression=None
        )

    async def _handle(self, connection: ServerConnection) -> None:
        try:
            await self._answer(connection)
        except ConnectionClosed:
            logger.info("the caller's connection closed")

    async def _answer(self, connection: ServerConnection) -> None:
        call: AgentCall | None = None
        try:
            async for raw in connection:
                message = json.loads(raw)
                match message["event"]:
                    case "start":
                        call = self._open(message["start"])
                        line = _Line(connection, message["start"])
                        await line.tick("0")
                    case "media" if call is not None:
                        await _exchange(call, line, message["media"])
                    case "mark" if call is not None:
                        call.played_out()
                    case "stop":
                        return
        finally:
            if call is not None:
                call.close()

    def _open(self, start: dict[str, Any]) -> AgentCall:
        call = AgentCall(start["customParameters"], self._text_to_speech, self._speech_to_text)
        self._calls[start["callSid"]] = call
        while len(self._calls) > _REPORTS_KEPT:
            self._calls.popitem(last=False)
        return call

    def _report(self, connection: ServerConnection, request: Request) -> Response | None:
        if not request.path.startswith(_REPORT_PATH):
            return None
        call = self._calls.get(request.path.removeprefix(_REPORT_PATH))
        if call is None:
            return connection.respond(HTTPStatus.NOT_FOUND, "no such call\n")
        report = {
            "initial_state": call.desk.initial_state,
            "final_state": call.desk.state,
            "instructions": INSTRUCTIONS,
            "tools": TOOLS,
            "tool_calls": call.desk.tool_calls,
            "agent_texts": call.texts,
            "turns": [asdict(turn) for turn in call.turns],
        }
        response = connection.respond(
            HTTPStatus.OK, json.dumps(report, ensure_ascii=False, indent=2) + "\n"
        )
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = "application/json; charset=utf-8"
        return response


class _Line:
    """Sends one call's messages."""

    def __init__(self, connection: ServerConnection, start: dict[str, Any]) -> None:
        self._connection = connection
        self._stream_sid = start["streamSid"]
        self.lockstep = LOCKSTEP_PARAMETER in start["customParameters"]

    async def say(self, payload: bytes) -> None:
        encoded = base64.b64encode(payload).decode("ascii")
        await self._send("media", {"media": {"payload": encoded}})
        await self._send("mark", {"mark": {"name": _MARK}})

    async def clear(self) -> None:
        await self._send("clear", {})

    async def tick(self, chunk: str) -> None:
        if self.lockstep:
            await self._send("mark", {"mark": {"name": f"{TICK_PREFIX}{chunk}"}})

    async def hang_up(self) -> None:
        await self._connection.close()

    def drop(self) -> None:
        """Break the connection as a lost network does: nothing is said on the WebSocket."""
        self._connection.transport.abort()

    async def _send(self, event: str, body: dict[str, Any]) -> None:
        message = {"event": event, "streamSid": self._stream_sid, **body}
        await self._connection.send(json.dumps(message))


async def _exchange(call: AgentCall, line: _Line, media: dict[str, Any]) -> None:
    """Take one frame in, send what is due, and acknowledge the frame in lockstep."""
    if await call.hear(base64.b64decode(media["payload"])):
        await line.clear()
    reply = await call.due_reply(wait=line.lockstep)
    if reply is not None and reply.hang_up:
        await line.hang_up()
        return
    if reply is not None and reply.drop:
        line.drop()
        return
    if reply is not None and reply.payload:
        await line.say(reply.payload)
    await line.tick(media["chunk"])


def serve(host: str, port: int, *, until_stdin_closes: bool = False) -> None:
    """Run the agent until SIGTERM or SIGINT.

    With `until_stdin_closes` also until the other end of its standard input is gone: a run that is
    killed can stop nothing, but its pipes close with it. Raises SpeechEngineError if the speech
    engines are missing, OSError if the port is taken.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    asyncio.run(_serve(host, port, until_stdin_closes=until_stdin_closes))


async def _serve(host: str, port: int, *, until_stdin_closes: bool) -> None:
    # Models are loaded before the port opens: whoever can connect is answered at once.
    text_to_speech, speech_to_text = default_text_to_speech(), default_speech_to_text()
    server = await AgentServer(text_to_speech, speech_to_text).listen(host, port)
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), _stop_at_end_of_input, stopped)
    logger.info("listening on ws://%s:%d/media", host, port)
    await stopped.wait()
    server.close()
    await server.wait_closed()


def _stop_at_end_of_input(stopped: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        stopped.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
