"""What a simulated caller is to the call: something that is asked for 20 ms of sound at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.speech.base import Samples


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn the caller has finished, or was cut off in. Frames count from the call's start.

    `end_frame` is exclusive. `text` is what the caller meant to say.
    """

    turn: int
    text: str
    start_frame: int
    end_frame: int
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class CallerFrame:
    """20 ms of the caller: 320 clean samples at 16 kHz, and 160 samples at 8 kHz to send."""

    clean: Samples
    wire: Samples


class SimulatedCaller(Protocol):
    """Speaks and listens, frame by frame. Must not block: speech is made before the call."""

    def speak(self) -> CallerFrame:
        """Return the caller's sound for the next frame."""
        ...

    def hear(self, frame: Samples) -> None:
        """Take the agent's sound of the same frame: 160 samples at 8 kHz."""
        ...

    @property
    def hang_up_reason(self) -> EndReason | None:
        """Why the caller wants to hang up now; None while it wants to go on."""
        ...

    def take_finished_turns(self) -> list[SpokenTurn]:
        """Return the turns finished since the last call of this method."""
        ...

    def cut_off(self) -> None:
        """The call is over: a turn that is being spoken ends here."""
        ...
