"""A call while it is live: connect, talk, hang up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from orchestrator_assets.call.callers.base import SimulatedCaller, SpokenTurn
from orchestrator_assets.call.clock import Clock, MediaClock, WallClock
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.event_log import EventLog
from orchestrator_assets.call.recorder import CallRecorder
from orchestrator_assets.call.session import AgentEar, CallEnd, CallSession
from orchestrator_assets.call.transports.twilio import (
    LOCKSTEP_PARAMETER,
    StreamEndedError,
    TwilioStream,
    open_twilio_stream,
)
from orchestrator_assets.errors import TransportError
from orchestrator_assets.redaction import redacted_url

logger = logging.getLogger(__name__)


class LiveCall:
    """Holds one call. Its fields tell how it went, also when it was cut short or failed."""

    def __init__(
        self,
        *,
        url: str,
        parameters: Mapping[str, str],
        caller: SimulatedCaller,
        recorder: CallRecorder,
        time_limit_seconds: float,
        lockstep: bool,
    ) -> None:
        self._url = url
        self._parameters = dict(parameters)
        self._caller = caller
        self._recorder = recorder
        self._time_limit_seconds = time_limit_seconds
        self._lockstep = lockstep
        self.started_at = self.ended_at = datetime.now(UTC)
        self.end = CallEnd(EndReason.CANCELLED, "the run was stopped before the call began")
        self.error: Exception | None = None
        self.clock: Clock = WallClock()
        self.call_sid: str | None = None
        self.seconds = 0.0
        self.caller_turns: list[SpokenTurn] = []

    @property
    def agent_refused_lockstep(self) -> bool:
        """Whether lockstep was asked for and the agent did not know it."""
        return self._lockstep and self.call_sid is not None and self.clock.kind == "wall"

    async def hold(self, events_path: Path) -> None:
        """Call and talk until the call is over, writing its events.

        What goes wrong with the connection ends the call and is no exception here; a cancellation
        hangs up and is passed on.
        """
        self.started_at = self.ended_at = datetime.now(UTC)
        with EventLog(events_path, self.started_at) as events:
            try:
                self.end = await self._connect_and_talk(events)
            except TransportError as error:
                reason = EndReason.TRANSPORT_ERROR
                if isinstance(error, StreamEndedError):
                    reason = error.reason
                self.end, self.error = CallEnd(reason, str(error)), error
            except asyncio.CancelledError:
                self.end = CallEnd(EndReason.CANCELLED, "the run was stopped during the call")
                raise
            except Exception as error:
                self.end = CallEnd(EndReason.ERROR, f"{type(error).__name__}: {error}")
                self.error = error
                raise
            finally:
                if self.ended_at <= self.started_at:  # It was never live.
                    self.ended_at = datetime.now(UTC)
                self._log_end(events)

    async def _connect_and_talk(self, events: EventLog) -> CallEnd:
        ear = AgentEar()
        async with open_twilio_stream(self._url, ear) as stream:
            events.connection_state(0.0, "connected", server_url=redacted_url(self._url))
            self.call_sid = stream.call_sid
            self.clock = await self._start(stream)
            session = CallSession(
                stream=stream,
                ear=ear,
                clock=self.clock,
                caller=self._caller,
                recorder=self._recorder,
                events=events,
                time_limit_seconds=self._time_limit_seconds,
            )
            self.started_at = datetime.now(UTC)
            try:
                return await session.run()
            finally:
                self.ended_at = datetime.now(UTC)
                self.seconds = session.seconds
                self.caller_turns = session.caller_turns
                await stream.hang_up()

    async def _start(self, stream: TwilioStream) -> Clock:
        if not self._lockstep:
            await stream.start(self._parameters)
            return WallClock()
        await stream.start({**self._parameters, LOCKSTEP_PARAMETER: "1"})
        if await stream.agrees_to_lockstep():
            return MediaClock(stream.wait_for_frame)
        logger.warning("the agent does not support lockstep; its calls run on the wall clock")
        return WallClock()

    def _log_end(self, events: EventLog) -> None:
        if self.end.message is not None:
            logger.warning("the call ended by %s: %s", self.end.reason.value, self.end.message)
            events.error(self.seconds, self.end.message)
        else:
            logger.info("the call ended by %s at %.2f s", self.end.reason.value, self.seconds)
        events.session_ended(self.seconds, self.end.reason)
