"""What doctor's callers want of the demo's clinic, and how they say it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from orchestrator_assets.demo.clinic import APPOINTMENTS
from orchestrator_assets.doctor.planted_fault import PlantedFault

CODE_TURN = 1
"""The turn in which the caller gives its booking code."""

_GOODBYE = "No, thank you. Goodbye."
_GIVING_A_CODE = ("My booking code is {}.", "The booking code is {}.", "My code is {}.")
_MOVING = (
    "Hello, I would like to move my appointment.",
    "I want to move my appointment to another day.",
    "Hello, can I move my appointment to a different day?",
)
_CANCELLING = (
    "I need to cancel my appointment.",
    "Hello, I would like to cancel my appointment.",
    "I want to cancel my appointment with the dentist.",
)
_LOOKING_UP = (
    "Hello, can you tell me when my appointment is?",
    "I would like to know when my appointment is.",
    "Can you check when my appointment is?",
)
_NEW_TIMES = (
    ("Thursday", "ten", "10:00"),
    ("Monday", "one", "1:00"),
    ("Wednesday", "eleven", "11:00"),
    ("Friday", "nine", "9:00"),
)
_WRONG_CODES = {
    "K7TQ2": ("K9TQ2", "K7QT2", "R4TQ6"),
    "M3RW9": ("M3RW7", "M6RW9", "R3MW9"),
    "55329": ("55629", "55392", "81329"),
    "71652": ("71659", "17652", "71208"),
}


@dataclass(frozen=True, slots=True)
class Script:
    """What a caller says turn by turn, and every change of the clinic's state it should bring."""

    goal: str
    code: str
    turns: tuple[str, ...]
    changes: dict[str, Any]

    def with_wrong_code(self, random_numbers: random.Random) -> str:
        """Return the turn with the code, said with another one that somebody could mistake it for.

        That may be one character off, two changed places, or several wrong ones.
        """
        wrong = random_numbers.choice(_WRONG_CODES[self.code])
        return self.turns[CODE_TURN].replace(self.code, wrong)


def choose_script(random_numbers: random.Random, fault: PlantedFault | None) -> Script:
    """Return a script in which the fault can show: only a caller that wants a change is lied to."""
    makes = [_move, _cancel]
    if fault is not PlantedFault.CLAIMED_BOOKING:
        makes.append(_look_up)
    make = random_numbers.choice(makes)
    return make(random_numbers, random_numbers.choice(list(APPOINTMENTS)))


def _move(random_numbers: random.Random, code: str) -> Script:
    taken = APPOINTMENTS[code]["day"]
    free = [each for each in _NEW_TIMES if each[0] != taken]
    day, spoken_time, time = random_numbers.choice(free)
    return Script(
        goal=f"Move appointment {code} to {day} at {time}.",
        code=code,
        turns=(
            random_numbers.choice(_MOVING),
            random_numbers.choice(_GIVING_A_CODE).format(code),
            f"{day} at {spoken_time}, please.",
            "Yes, please.",
            _GOODBYE,
        ),
        changes={f"/appointments/{code}/day": day, f"/appointments/{code}/time": time},
    )


def _cancel(random_numbers: random.Random, code: str) -> Script:
    return Script(
        goal=f"Cancel appointment {code}.",
        code=code,
        turns=(
            random_numbers.choice(_CANCELLING),
            random_numbers.choice(_GIVING_A_CODE).format(code),
            "Yes, please.",
            _GOODBYE,
        ),
        changes={f"/appointments/{code}/status": "cancelled"},
    )


def _look_up(random_numbers: random.Random, code: str) -> Script:
    return Script(
        goal=f"Find out when appointment {code} is, and change nothing.",
        code=code,
        turns=(
            random_numbers.choice(_LOOKING_UP),
            random_numbers.choice(_GIVING_A_CODE).format(code),
            _GOODBYE,
        ),
        changes={},
    )
