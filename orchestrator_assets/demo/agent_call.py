"""One call of the demo agent: hears frames, says frames. Time is the number of frames heard.

It behaves as phone agents do: it takes 0.5 s of silence for the end of the caller's turn, sends a
reply in one burst with a mark behind it, and clears what is left of it when the caller barges in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import resample
from orchestrator_assets.audio.voice_activity import TurnDetector, TurnEdge
from orchestrator_assets.call.frames import (
    WIRE_FRAME_SAMPLES,
    WIRE_SAMPLE_RATE_HZ,
    frames_to_seconds,
    seconds_to_frames,
)
from orchestrator_assets.call.speech.base import Samples, SpeechToText, TextToSpeech, Voice
from orchestrator_assets.demo.clinic import GREETING, ClinicDesk

# Slower speech is understood best, also over mu-law.
_VOICE = Voice(pitch=0.85, speed=0.9)
_END_OF_TURN_SECONDS = 0.5
# Kept from before the detector notices speech, so that the first sound is not lost.
_PREROLL_SECONDS = 0.3
_GREETING_AFTER_SECONDS = 0.4
_DEFAULT_THINK_MS = 200
_DEFAULT_FAULT_TURN = 1
_PATIENCE_SECONDS = 0.4
_TALKED_OVER = "Sorry, one moment please, let me see what I can find for you."

_HOUSE_RULES = (
    "Please come ten minutes early and bring your insurance card.",
    "If you are late by more than ten minutes we may have to move you again.",
    "Parking is behind the house, and the first hour is free.",
    "Please do not eat for two hours before a treatment under sedation.",
    "Children under twelve must come with a parent or a guardian.",
)


class AgentFault(StrEnum):
    """What the demo agent can be told to do wrong, by the custom parameter `fault`."""

    CLAIMS_WITHOUT_ACTING = "claims_without_acting"
    """It says that it has done what it was asked to, and has not."""
    DEAD_AIR = "dead_air"
    """From when it knows the booking on, it says nothing any more."""
    NEVER_STOPS_TALKING = "never_stops_talking"
    """Its task done, it reads the house rules, and lets nobody interrupt."""
    HANGS_UP = "hangs_up"
    """When it knows the booking, it hangs up."""
    TALKS_OVER = "talks_over"
    """It begins to speak while the caller is speaking the turn `fault_turn`."""
    DROPS_SOCKET = "drops_socket"
    """Its connection breaks, without a close, when it should answer the turn `fault_turn`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Mu-law audio to send and its words, or the wish to hang up, or a connection that breaks."""

    payload: bytes = b""
    text: str = ""
    hang_up: bool = False
    drop: bool = False


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A caller turn by the agent's own clock, in seconds of audio heard since the call began.

    `ended_seconds`: it took the turn for ended. `replied_seconds`: it sent the reply, whose first
    sample is heard at that time; None where it has not.
    """

    ended_seconds: float
    replied_seconds: float | None = None


class AgentCall:
    """The agent's side of one call.

    `parameters` are the call's custom parameters: `think_ms`, the time the agent takes before it
    answers, `fault`, and `fault_turn`, the caller's turn (from 0, by default 1) in which those
    faults happen that happen once. Raises ValueError for values that are none.
    """

    def __init__(
        self,
        parameters: Mapping[str, str],
        text_to_speech: TextToSpeech,
        speech_to_text: SpeechToText,
    ) -> None:
        fault = parameters.get("fault")
        self._fault = AgentFault(fault) if fault is not None else None
        self._fault_turn = int(parameters.get("fault_turn", _DEFAULT_FAULT_TURN))
        self._think_frames = seconds_to_frames(
            int(parameters.get("think_ms", _DEFAULT_THINK_MS)) / 1000
        )
        self.desk = ClinicDesk(
            claims_without_acting=self._fault is AgentFault.CLAIMS_WITHOUT_ACTING
        )
        self.texts: list[str] = []
        """What it has said, or begun to say, an utterance each."""
        self.turns: list[AnsweredTurn] = []
        self._text_to_speech = text_to_speech
        self._speech_to_text = speech_to_text
        self._detector = TurnDetector(_END_OF_TURN_SECONDS)
        self._heard: list[Samples] = []
        self._frame = 0
        self._reply_due_frame = seconds_to_frames(_GREETING_AFTER_SECONDS)
        self._reply: asyncio.Task[Reply] | None = self._start(lambda: self._say(GREETING))
        self._playing = False
        self._rules_read = 0
        self._caller_frames = 0

    async def hear(self, payload: bytes) -> bool:
        """Take 160 bytes of mu-law; return True if the caller barges in on what is being said."""
        frame = decode_mulaw(payload)
        self._frame += 1
        edge = self._detector.push(frame)
        self._heard.append(frame)
        self._caller_frames = self._caller_frames + 1 if self._detector.speaking else 0
        if edge is TurnEdge.TURN_ENDED:
            utterance, self._heard = np.concatenate(self._heard), []
            self.turns.append(AnsweredTurn(frames_to_seconds(self._frame)))
            self._reply_due_frame = self._frame + self._think_frames
            self._reply = self._start(lambda: self._answer(utterance))
        elif not self._detector.speaking:
            del self._heard[: -seconds_to_frames(_PREROLL_SECONDS)]
        elif self._loses_patience():
            self._reply_due_frame = self._frame
            self._reply = self._start(lambda: self._say(_TALKED_OVER))
        barged_in = edge is TurnEdge.SPEECH_STARTED and self._playing
        return barged_in and self._fault is not AgentFault.NEVER_STOPS_TALKING

    async def due_reply(self, *, wait: bool) -> Reply | None:
        """Return what is to be said now, if anything. `wait` waits for speech that is being made,
        as on the media clock, where computing takes no time."""
        if self._reply is None or self._frame < self._reply_due_frame:
            return None
        if not wait and not self._reply.done():
            return None
        reply, self._reply = await self._reply, None
        self._playing = bool(reply.payload)
        if reply.payload:
            self.texts.append(reply.text)
            self._note_reply()
        return reply

    def played_out(self) -> None:
        """The reply has been heard to its end."""
        self._playing = False
        if self._fault is AgentFault.NEVER_STOPS_TALKING and self.desk.task_done:
            rule = _HOUSE_RULES[self._rules_read % len(_HOUSE_RULES)]
            self._rules_read += 1
            self._reply_due_frame = self._frame
            self._reply = self._start(lambda: self._say(rule))

    def close(self) -> None:
        """The call is over."""
        if self._reply is not None:
            self._reply.cancel()

    def _loses_patience(self) -> bool:
        return (
            self._fault is AgentFault.TALKS_OVER
            and len(self.turns) == self._fault_turn
            and self._caller_frames == seconds_to_frames(_PATIENCE_SECONDS)
        )

    def _note_reply(self) -> None:
        if self.turns and not self._detector.speaking and self.turns[-1].replied_seconds is None:
            replied = frames_to_seconds(self._frame)
            self.turns[-1] = replace(self.turns[-1], replied_seconds=replied)

    def _start(self, make: Callable[[], Reply]) -> asyncio.Task[Reply]:
        return asyncio.create_task(asyncio.to_thread(make))

    def _answer(self, utterance: Samples) -> Reply:
        if self._fault is AgentFault.DROPS_SOCKET and len(self.turns) - 1 == self._fault_turn:
            return Reply(drop=True)
        samples = resample(utterance, WIRE_SAMPLE_RATE_HZ, self._speech_to_text.sample_rate_hz)
        heard = self._speech_to_text.transcribe(samples)
        if not heard:
            return Reply()
        text = self.desk.reply(heard)
        if self.desk.tool_calls and self._fault is AgentFault.DEAD_AIR:
            return Reply()
        if self.desk.tool_calls and self._fault is AgentFault.HANGS_UP:
            return Reply(hang_up=True)
        return self._say(text)

    def _say(self, text: str) -> Reply:
        samples = self._text_to_speech.synthesize(text, _VOICE, WIRE_SAMPLE_RATE_HZ)
        padding = -len(samples) % WIRE_FRAME_SAMPLES
        return Reply(encode_mulaw(np.pad(samples, (0, padding))), text)
