"""One live call: the frame loop between the simulated caller, the agent and the recorder."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.voice_activity import ONSET_SECONDS, TurnDetector, TurnEdge
from orchestrator_assets.call.callers.base import SimulatedCaller, SpokenTurn
from orchestrator_assets.call.clock import Clock
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.event_log import AGENT_AUDIO, CALLER_AUDIO, EventLog
from orchestrator_assets.call.frames import frames_to_seconds, seconds_to_frames
from orchestrator_assets.call.playout import PlayoutBuffer
from orchestrator_assets.call.recorder import CallRecorder
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.call.transports.twilio import StreamEndedError, TwilioStream

# Silence that ends a stretch of the agent's speech in the event log; pauses inside a sentence are
# shorter.
_AGENT_AUDIO_GAP_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a live call ended. `message` tells what went wrong, where something did."""

    reason: EndReason
    message: str | None = None


class AgentEar:
    """The StreamListener of a call: fills the play-out buffer, and remembers marks to echo."""

    def __init__(self) -> None:
        self.playout = PlayoutBuffer()
        self._marks_to_echo: list[str] = []

    def on_media(self, payload: bytes) -> None:
        """Queue the agent's audio for play-out."""
        self.playout.add_media(payload)

    def on_mark(self, name: str) -> None:
        """Queue the mark behind the audio that came before it."""
        self.playout.add_mark(name)

    def on_clear(self) -> None:
        """Flush what was not played; its marks are echoed at once, as Twilio does."""
        self._marks_to_echo.extend(self.playout.clear())

    def play_frame(self) -> bytes:
        """Play out the next 20 ms."""
        played = self.playout.take_frame()
        self._marks_to_echo.extend(played.marks)
        return played.payload

    def take_marks_to_echo(self) -> list[str]:
        """Return the marks whose echo is due."""
        marks, self._marks_to_echo = self._marks_to_echo, []
        return marks


class CallSession:
    """Runs the frames of one call until someone hangs up or the time is over."""

    def __init__(
        self,
        *,
        stream: TwilioStream,
        ear: AgentEar,
        clock: Clock,
        caller: SimulatedCaller,
        recorder: CallRecorder,
        events: EventLog,
        time_limit_seconds: float,
    ) -> None:
        self._stream = stream
        self._ear = ear
        self._clock = clock
        self._caller = caller
        self._recorder = recorder
        self._events = events
        self._limit_frames = seconds_to_frames(time_limit_seconds)
        self._agent_speech = TurnDetector(_AGENT_AUDIO_GAP_SECONDS)
        self._agent_speaking = False
        self._frame = 0
        self.caller_turns: list[SpokenTurn] = []

    @property
    def seconds(self) -> float:
        """How long the call has lasted on its own clock."""
        return frames_to_seconds(self._frame)

    async def run(self) -> CallEnd:
        """Hold the call and return how it ended. Logs all events but the last."""
        self._ear.playout.prebuffer_frames = self._clock.prebuffer_frames
        self._events.session_started(datetime.now(UTC))
        self._clock.start()
        try:
            while True:
                await self._run_frame()
                if self._caller.hang_up_reason is not None:
                    return CallEnd(self._caller.hang_up_reason)
                if self._frame >= self._limit_frames:
                    return CallEnd(EndReason.TIME_LIMIT_EXCEEDED)
        except StreamEndedError as ended:
            return CallEnd(ended.reason, str(ended))
        except TimeoutError:
            return CallEnd(
                EndReason.TRANSPORT_ERROR,
                f"the agent stopped acknowledging frames (lockstep) at {self.seconds:.2f} s",
            )
        finally:
            self._caller.cut_off()
            self._log_caller_turns()
            if self._agent_speaking:
                self._events.audio_edge(self.seconds, AGENT_AUDIO, "audio_end")

    async def _run_frame(self) -> None:
        # What the agent sends during this frame is played in the next: nobody hears the future.
        heard = decode_mulaw(self._ear.play_frame())
        for mark in self._ear.take_marks_to_echo():
            await self._stream.echo_mark(mark)
        spoken = self._caller.speak()
        payload = encode_mulaw(spoken.wire)
        await self._stream.send_frame(self._frame, payload)
        self._clock.frame_sent(self._frame)
        await self._clock.frame_ended(self._frame)
        self._stream.raise_if_ended()
        self._recorder.add_frame(spoken, decode_mulaw(payload), heard)
        self._frame += 1
        self._log_agent_speech(heard)
        self._caller.hear(heard)
        self._log_caller_turns()

    def _log_agent_speech(self, heard: Samples) -> None:
        edge = self._agent_speech.push(heard)
        if edge is TurnEdge.SPEECH_STARTED:
            self._agent_speaking = True
            start = self.seconds - ONSET_SECONDS
            self._events.audio_edge(start, AGENT_AUDIO, "audio_start")
        elif edge is TurnEdge.TURN_ENDED:
            self._agent_speaking = False
            end = self.seconds - _AGENT_AUDIO_GAP_SECONDS
            self._events.audio_edge(end, AGENT_AUDIO, "audio_end")

    def _log_caller_turns(self) -> None:
        for turn in self._caller.take_finished_turns():
            self.caller_turns.append(turn)
            start, end = frames_to_seconds(turn.start_frame), frames_to_seconds(turn.end_frame)
            self._events.audio_edge(start, CALLER_AUDIO, "audio_start")
            self._events.caller_turn(turn.turn, turn.text, start, end, cut_off=turn.cut_off)
            self._events.audio_edge(end, CALLER_AUDIO, "audio_end")
