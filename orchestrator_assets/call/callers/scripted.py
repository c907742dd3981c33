"""The scripted caller: says its turns in order, each after the agent's turn has ended.

It is a state machine that advances by one frame at a time and knows no other time, so it behaves
the same on both clocks. Its speech is synthesised before the call (`prepare_turns`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from orchestrator_assets.audio.samples import resample
from orchestrator_assets.audio.voice_activity import TurnDetector, TurnEdge
from orchestrator_assets.call.callers.base import CallerFrame, SpokenTurn
from orchestrator_assets.call.callers.faults import spoilt
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.frames import (
    CLEAN_FRAME_SAMPLES,
    CLEAN_SAMPLE_RATE_HZ,
    WIRE_FRAME_SAMPLES,
    WIRE_SAMPLE_RATE_HZ,
    seconds_to_frames,
)
from orchestrator_assets.call.speech.base import Samples, TextToSpeech, Voice
from orchestrator_assets.evaluation import Caller
from orchestrator_assets.records import CallerFault, CallerFaultKind, Record

# Sound that counts as an answer: less than this is the tail of what the agent was saying before.
_SHORTEST_ANSWER_SECONDS = 0.2
_AUDIBLE_PEAK = 500

_SILENT_FRAME = CallerFrame(
    clean=np.zeros(CLEAN_FRAME_SAMPLES, dtype=np.int16),
    wire=np.zeros(WIRE_FRAME_SAMPLES, dtype=np.int16),
)


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """A turn and its sound, cut into frames. `hang_up_instead` is a planted fault."""

    turn: int
    text: str
    frames: tuple[CallerFrame, ...]
    barge_in_after_seconds: float | None = None
    hang_up_instead: bool = False


def prepare_turns(
    record: Record, attempt: int, caller: Caller, text_to_speech: TextToSpeech
) -> list[PreparedTurn]:
    """Synthesise what the record's caller says in this attempt. Blocking: run it in a thread.

    Planted faults change what is audible, not what the caller means to say. The attempt seeds the
    voice, so that a caller fault of the synthesis does not simply repeat. Raises SpeechEngineError.
    """
    sounds = record.caller_voice or caller.voice
    voice = Voice(pitch=sounds.pitch, speed=sounds.speed, seed=attempt - 1)
    faults = [fault for fault in record.caller_faults if fault.applies_to(attempt)]
    prepared = []
    for index, turn in enumerate(record.turns):
        kinds = {fault.kind for fault in faults if fault.turn == index}
        if CallerFaultKind.SKIP_TURN in kinds:
            continue
        hang_up = CallerFaultKind.HANG_UP_EARLY in kinds
        audible = _audible_text(turn.say, index, faults)
        frames = () if hang_up else tuple(_speech_frames(audible, voice, text_to_speech))
        frames = spoilt(frames, kinds, seed=attempt)
        prepared.append(PreparedTurn(index, turn.say, frames, turn.barge_in_after_seconds, hang_up))
    return prepared


def _audible_text(meant: str, turn: int, faults: Iterable[CallerFault]) -> str:
    spoken = [fault.spoken for fault in faults if fault.turn == turn and fault.spoken is not None]
    return spoken[-1] if spoken else meant


def _speech_frames(text: str, voice: Voice, text_to_speech: TextToSpeech) -> Iterable[CallerFrame]:
    clean = text_to_speech.synthesize(text, voice, CLEAN_SAMPLE_RATE_HZ)
    # Synthesised for the line by itself it would be trimmed by itself, up to 10 ms otherwise.
    wire = resample(clean, CLEAN_SAMPLE_RATE_HZ, WIRE_SAMPLE_RATE_HZ)
    count = max(-(-len(clean) // CLEAN_FRAME_SAMPLES), -(-len(wire) // WIRE_FRAME_SAMPLES))
    clean = np.pad(clean, (0, count * CLEAN_FRAME_SAMPLES - len(clean)))
    wire = np.pad(wire, (0, count * WIRE_FRAME_SAMPLES - len(wire)))
    for index in range(count):
        yield CallerFrame(
            clean=clean[index * CLEAN_FRAME_SAMPLES : (index + 1) * CLEAN_FRAME_SAMPLES],
            wire=wire[index * WIRE_FRAME_SAMPLES : (index + 1) * WIRE_FRAME_SAMPLES],
        )


class _State(Enum):
    LISTENING = auto()
    ABOUT_TO_SPEAK = auto()
    SPEAKING = auto()
    HUNG_UP = auto()


class ScriptedCaller:
    """Plays prepared turns against the agent. See SimulatedCaller for the protocol."""

    def __init__(self, turns: Iterable[PreparedTurn], caller: Caller) -> None:
        self._turns = list(turns)
        self._caller = caller
        self._detector = TurnDetector(caller.end_of_turn_seconds)
        self._state = _State.LISTENING
        self._frame = 0
        self._next_turn = 0
        self._turn_start_frame = 0
        self._pause_frames = 0
        self._silent_frames = 0
        self._answer_frames = 0
        self._agent_speech_frames = 0
        self._hang_up_reason: EndReason | None = None
        self._finished: list[SpokenTurn] = []

    @property
    def hang_up_reason(self) -> EndReason | None:
        """Why the caller wants to hang up now; None while it wants to go on."""
        return self._hang_up_reason

    def take_finished_turns(self) -> list[SpokenTurn]:
        """Return the turns finished since the last call of this method."""
        finished, self._finished = self._finished, []
        return finished

    def speak(self) -> CallerFrame:
        """Return the caller's sound for the next frame."""
        if self._state is _State.ABOUT_TO_SPEAK:
            if self._pause_frames > 0:
                self._pause_frames -= 1
            else:
                self._begin_turn()
        if self._state is not _State.SPEAKING:
            return _SILENT_FRAME
        return self._turns[self._next_turn].frames[self._frame - self._turn_start_frame]

    def hear(self, frame: Samples) -> None:
        """Take the agent's sound of the frame just spoken in, and decide what to do next."""
        self._frame += 1
        edge = self._detector.push(frame)
        audible = (
            self._detector.speaking and int(np.abs(frame.astype(np.int32)).max()) > _AUDIBLE_PEAK
        )
        self._agent_speech_frames = self._agent_speech_frames + 1 if self._detector.speaking else 0
        if self._state is _State.SPEAKING:
            self._end_turn_if_all_said()
        elif self._state is _State.LISTENING:
            self._answer_frames += audible
            self._silent_frames = 0 if audible else self._silent_frames + 1
            self._listen(agent_turn_ended=edge is TurnEdge.TURN_ENDED)

    def cut_off(self) -> None:
        """The call is over: a turn that is being spoken ends here."""
        if self._state is _State.SPEAKING:
            self._finish_turn(cut_off=True)
            self._state = _State.HUNG_UP

    def _listen(self, *, agent_turn_ended: bool) -> None:
        answered = self._answer_frames >= seconds_to_frames(_SHORTEST_ANSWER_SECONDS)
        turns_left = self._next_turn < len(self._turns)
        if agent_turn_ended and answered:
            if turns_left:
                self._pause_before_turn(self._caller.reply_delay_seconds)
            else:
                self._hang_up(EndReason.GOODBYE)
        elif turns_left and self._wants_to_barge_in():
            self._begin_turn()
        else:
            self._mind_the_silence(turns_left=turns_left)

    def _wants_to_barge_in(self) -> bool:
        after = self._turns[self._next_turn].barge_in_after_seconds
        return after is not None and self._agent_speech_frames > seconds_to_frames(after)

    def _mind_the_silence(self, *, turns_left: bool) -> None:
        silent = self._silent_frames
        if self._detector.speaking:
            return
        farewell_frames = seconds_to_frames(self._caller.farewell_wait_seconds)
        if not turns_left and not self._has_asked() and silent >= farewell_frames:
            self._hang_up(EndReason.GOODBYE)
        elif self._nothing_happened_yet() and silent >= seconds_to_frames(
            self._caller.speaks_first_after_seconds
        ):
            self._pause_before_turn(0.0)
        elif silent >= seconds_to_frames(self._caller.inactivity_timeout_seconds):
            self._hang_up(EndReason.INACTIVITY_TIMEOUT)

    def _has_asked(self) -> bool:
        """Whether the last thing said was a question, which deserves an answer."""
        return bool(self._turns) and self._turns[self._next_turn - 1].text.rstrip().endswith("?")

    def _nothing_happened_yet(self) -> bool:
        return self._next_turn == 0 and self._answer_frames == 0 and bool(self._turns)

    def _pause_before_turn(self, seconds: float) -> None:
        self._state = _State.ABOUT_TO_SPEAK
        self._pause_frames = seconds_to_frames(seconds)

    def _begin_turn(self) -> None:
        if self._turns[self._next_turn].hang_up_instead:
            self._hang_up(EndReason.GOODBYE)
            return
        self._state = _State.SPEAKING
        self._turn_start_frame = self._frame

    def _end_turn_if_all_said(self) -> None:
        if self._frame - self._turn_start_frame >= len(self._turns[self._next_turn].frames):
            self._finish_turn(cut_off=False)
            self._state = _State.LISTENING
            self._silent_frames = 0
            self._answer_frames = 0

    def _finish_turn(self, *, cut_off: bool) -> None:
        turn = self._turns[self._next_turn]
        self._finished.append(
            SpokenTurn(turn.turn, turn.text, self._turn_start_frame, self._frame, cut_off)
        )
        self._next_turn += 1

    def _hang_up(self, reason: EndReason) -> None:
        self._state = _State.HUNG_UP
        self._hang_up_reason = reason
