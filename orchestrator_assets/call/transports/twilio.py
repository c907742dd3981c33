"""Twilio Media Streams over WebSocket, from Twilio's side: we are the telephone network.

Message shapes: https://www.twilio.com/docs/voice/media-streams/websocket-messages. We send
`connected`, `start`, `media`, `mark` (the echo of a mark that play-out has reached) and `stop`; the
agent sends `media`, `mark` and `clear`.

Lockstep is our one addition, in Twilio's own vocabulary. The custom parameter `lockstep` = 1 asks
for it; an agent that supports it answers `start` with a mark `tick-0`, and every `media` message
with a mark `tick-<chunk>` once it has dealt with it and has sent all audio due by then. Order on
one WebSocket is kept, so when the tick arrives everything the agent said until then has arrived.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

from websockets.asyncio.client import ClientConnection, connect
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.frames import WIRE_SAMPLE_RATE_HZ
from orchestrator_assets.errors import ProviderBusyError, TransportError
from orchestrator_assets.redaction import redacted_url

TICK_PREFIX = "tick-"
LOCKSTEP_PARAMETER = "lockstep"
BUSY_STATUSES = frozenset({429, 503})
"""HTTP statuses by which a server that is there asks to be tried again later (RFC 9110, 6585)."""

_OPEN_TIMEOUT_SECONDS = 10.0
_CLOSE_TIMEOUT_SECONDS = 2.0
# An agent in another process may be busy with other calls when ours starts.
_LOCKSTEP_ANSWER_SECONDS = 5.0
_LOCKSTEP_FRAME_SECONDS = 60.0
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_NORMAL_CLOSURES = {1000, 1001}

logger = logging.getLogger(__name__)


class StreamListener(Protocol):
    """Takes what the agent sends."""

    def on_media(self, payload: bytes) -> None:
        """Audio arrived: mu-law, 8 kHz, of any length."""
        ...

    def on_mark(self, name: str) -> None:
        """The agent wants to know when play-out has come this far."""
        ...

    def on_clear(self) -> None:
        """The agent takes back what was not played yet."""
        ...


class StreamEndedError(TransportError):
    """The agent's side of the stream has ended; `reason` tells a hang-up from a failure."""

    def __init__(self, reason: EndReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class TwilioStream:
    """One open media stream. Made by `open_twilio_stream`, used by one call."""

    def __init__(self, connection: ClientConnection, listener: StreamListener) -> None:
        self.stream_sid = f"MZ{secrets.token_hex(16)}"
        self.call_sid = f"CA{secrets.token_hex(16)}"
        self._account_sid = f"AC{secrets.token_hex(16)}"
        self._connection = connection
        self._listener = listener
        self._sequence = 0
        self._last_tick = -1
        self._news = asyncio.Event()
        self._ended: StreamEndedError | None = None

    async def start(self, parameters: Mapping[str, str]) -> None:
        """Announce the call, with custom parameters for the agent."""
        await self._send({"event": "connected", "protocol": "Call", "version": "1.0.0"})
        start = {
            "accountSid": self._account_sid,
            "streamSid": self.stream_sid,
            "callSid": self.call_sid,
            "tracks": ["inbound"],
            "mediaFormat": {
                "encoding": "audio/x-mulaw",
                "sampleRate": WIRE_SAMPLE_RATE_HZ,
                "channels": 1,
            },
            "customParameters": dict(parameters),
        }
        await self._send_numbered("start", {"start": start})

    async def send_frame(self, frame: int, payload: bytes) -> None:
        """Send the 160 bytes of the frame with this index, from 0."""
        media = {
            "track": "inbound",
            "chunk": str(frame + 1),
            "timestamp": str(frame * 20),
            "payload": base64.b64encode(payload).decode("ascii"),
        }
        await self._send_numbered("media", {"media": media})

    async def echo_mark(self, name: str) -> None:
        """Tell the agent that play-out has reached its mark."""
        await self._send_numbered("mark", {"mark": {"name": name}})

    async def hang_up(self) -> None:
        """Send `stop` and close; a peer that is gone already is no error."""
        stop = {"accountSid": self._account_sid, "callSid": self.call_sid}
        try:
            await self._send_numbered("stop", {"stop": stop})
        except StreamEndedError:
            logger.debug("the agent had closed the stream before our stop")
        await self._connection.close()

    async def agrees_to_lockstep(self) -> bool:
        """Tell whether the agent has answered `start` as an agent that supports lockstep does."""
        try:
            await self._wait_for_tick(0, _LOCKSTEP_ANSWER_SECONDS)
        except TimeoutError:
            return False
        return True

    async def wait_for_frame(self, frame: int) -> None:
        """Return when the agent has acknowledged the frame with this index, from 0 (lockstep).

        Raises StreamEndedError when the stream ends first, TimeoutError when nothing comes.
        """
        await self._wait_for_tick(frame + 1, _LOCKSTEP_FRAME_SECONDS)

    async def _wait_for_tick(self, tick: int, timeout_seconds: float) -> None:
        async with asyncio.timeout(timeout_seconds):
            while self._last_tick < tick:
                self.raise_if_ended()
                self._news.clear()
                await self._news.wait()

    def raise_if_ended(self) -> None:
        """Raise StreamEndedError if the agent's side has ended."""
        if self._ended is not None:
            raise self._ended

    async def receive(self) -> None:
        """Hand the agent's messages to the listener until the stream ends."""
        try:
            async for message in self._connection:
                self._dispatch(message)
            self._end(*_closure(self._connection))
        except ConnectionClosed:
            self._end(*_closure(self._connection))
        except TransportError as error:
            self._end(EndReason.TRANSPORT_ERROR, str(error))

    def _end(self, reason: EndReason, message: str) -> None:
        self._ended = StreamEndedError(reason, message)
        self._news.set()

    def _dispatch(self, message: str | bytes) -> None:
        try:
            parsed = json.loads(message)
            event = parsed["event"]
            if event == "media":
                payload = base64.b64decode(parsed["media"]["payload"], validate=True)
                self._listener.on_media(payload)
            elif event == "mark":
                self._on_mark(str(parsed["mark"]["name"]))
            elif event == "clear":
                self._listener.on_clear()
            else:
                logger.debug("ignored a message of kind %r from the agent", event)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            shown = message[:200] if isinstance(message, str) else repr(message[:100])
            raise TransportError(
                f"the agent sent what is no Twilio message ({error!r}): {shown}"
            ) from error

    def _on_mark(self, name: str) -> None:
        tick = name.removeprefix(TICK_PREFIX)
        if tick != name and tick.isdigit():
            self._last_tick = max(self._last_tick, int(tick))
            self._news.set()
        else:
            self._listener.on_mark(name)

    async def _send_numbered(self, event: str, body: dict[str, Any]) -> None:
        self._sequence += 1
        numbered = {"event": event, "sequenceNumber": str(self._sequence)}
        await self._send({**numbered, **body, "streamSid": self.stream_sid})

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            await self._connection.send(json.dumps(message))
        except ConnectionClosed as error:
            raise StreamEndedError(*_closure(self._connection)) from error


def _closure(connection: ClientConnection) -> tuple[EndReason, str]:
    code, text = connection.close_code, connection.close_reason
    if code in _NORMAL_CLOSURES:
        return EndReason.AGENT_HANGUP, f"the agent hung up (close code {code})"
    return EndReason.TRANSPORT_ERROR, f"the connection broke (close code {code}: {text or 'none'})"


@asynccontextmanager
async def open_twilio_stream(url: str, listener: StreamListener) -> AsyncIterator[TwilioStream]:
    """Connect to the agent and receive its messages until the block is left.

    Raises TransportError when no connection can be made, ProviderBusyError when the agent's server
    asks to be called later.
    """
    try:
        connection = await connect(
            url,
            compression=None,
            open_timeout=_OPEN_TIMEOUT_SECONDS,
            close_timeout=_CLOSE_TIMEOUT_SECONDS,
            max_size=_MAX_MESSAGE_BYTES,
            user_agent_header="orchestrator_assets",
        )
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI, EOFError) as error:
        if isinstance(error, InvalidStatus) and error.response.status_code in BUSY_STATUSES:
            message = f"{redacted_url(url)} is busy (HTTP {error.response.status_code})"
            raise ProviderBusyError(message, _retry_after(error.response.headers)) from error
        raise TransportError(f"no connection to {redacted_url(url)}: {error}") from error
    stream = TwilioStream(connection, listener)
    receiving = asyncio.create_task(stream.receive())
    try:
        yield stream
    finally:
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
        await connection.close()


def _retry_after(headers: Headers) -> float | None:
    """Return the seconds to wait that a server names; one that names a date is not listened to."""
    values = headers.get_all("Retry-After")
    return float(values[0]) if values and values[0].isdecimal() else None
