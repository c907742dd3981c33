"""The demo agent's mind: Harbour Dental's telephone desk, which moves, cancels and looks up
appointments. It hears text and answers with text; it knows nothing of sound."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator_assets.call.speech.comparison import canonical
from orchestrator_assets.call.speech.number_words import cardinal, with_digits
from orchestrator_assets.demo.clinic_tools import DAYS

GREETING = "Harbour Dental, good morning. How can I help you?"
FAREWELL = "Thank you for calling Harbour Dental. Goodbye."
ANYTHING_ELSE = "Is there anything else?"

APPOINTMENTS: Mapping[str, Mapping[str, str]] = {
    "K7TQ2": {"patient": "Maria Novak", "day": "Tuesday", "time": "9:00", "status": "booked"},
    "M3RW9": {"patient": "Peter Holm", "day": "Monday", "time": "11:00", "status": "booked"},
    "55329": {"patient": "Julia Brandt", "day": "Wednesday", "time": "10:30", "status": "booked"},
    "71652": {"patient": "Jürgen Müller", "day": "Friday", "time": "2:00", "status": "booked"},
}

_HOMOPHONES = {"to": "two", "too": "two", "for": "four"}
_TIME = re.compile(r"\bat (?P<hour>1[0-2]|[1-9])(?: (?P<minute>[0-5]\d))?\b")
_INTENTS = {
    "cancel": re.compile(r"\bcancel", re.IGNORECASE),
    "move": re.compile(r"\b(move|change|reschedule|another day|different day)\b", re.IGNORECASE),
    "look_up": re.compile(r"\b(when|what time|check|look up)\b", re.IGNORECASE),
}
_YES = re.compile(r"\b(yes|yeah|please do|correct|go ahead|that works)\b", re.IGNORECASE)
_NO = re.compile(r"\b(no|nope|not)\b", re.IGNORECASE)
_BYE = re.compile(r"\b(good ?bye|bye)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Request:
    """What the caller is known to want so far."""

    intent: str | None = None
    code: str | None = None
    day: str = ""
    time: str = ""


class ClinicDesk:
    """One telephone conversation with the desk. `claims_without_acting` is a plantable fault."""

    def __init__(self, *, claims_without_acting: bool = False) -> None:
        self._claims_without_acting = claims_without_acting
        self._request = _Request()
        self._asked_for_code = False
        self._awaits_confirmation = False
        self.initial_state: dict[str, Any] = {
            "appointments": {code: dict(entry) for code, entry in APPOINTMENTS.items()}
        }
        self.state = copy.deepcopy(self.initial_state)
        self.tool_calls: list[dict[str, Any]] = []
        self.task_done = False

    def reply(self, heard: str) -> str:
        """Return what the desk says to what it heard."""
        if _BYE.search(heard):
            return FAREWELL
        if self._awaits_confirmation and (_YES.search(heard) or _NO.search(heard)):
            self._awaits_confirmation = False
            return self._act() if _YES.search(heard) else self._ask_again()
        self._take_in(heard)
        request = self._request
        if request.intent is None:
            return "I can move, cancel or look up an appointment. Which would you like?"
        if request.code is None:
            if self._asked_for_code:
                return "I am sorry, I can not find that code. Could you say it again?"
            self._asked_for_code = True
            return "Certainly. What is your booking code?"
        return self._next_step()

    def _take_in(self, heard: str) -> None:
        """Fill in what the words tell."""
        for intent, pattern in _INTENTS.items():
            if self._request.intent is None and pattern.search(heard):
                self._request.intent = intent
        self._request.code = self._heard_code(heard) or self._request.code
        if self._request.intent == "move" and self._request.code is not None:
            days = [day for day in DAYS if day.lower() in heard.lower()]
            self._request.day = days[-1] if days else self._request.day
            self._request.time = _heard_time(heard) or self._request.time

    def _heard_code(self, heard: str) -> str | None:
        """Find a booking code in the words. One character may have been misheard."""
        text = canonical(heard).upper()
        best: tuple[int, str] | None = None
        for code in self.state["appointments"]:
            for start in range(len(text) - len(code) + 1):
                window = text[start : start + len(code)]
                wrong = sum(a != b for a, b in zip(window, code, strict=True))
                if wrong <= 1 and (best is None or wrong < best[0]):
                    best = (wrong, code)
        if best is None:
            return None
        self._log_tool("look_up_appointment", code=best[1])
        self._log_result(appointment=dict(self.state["appointments"][best[1]]))
        return best[1]

    def _next_step(self) -> str:
        request = self._request
        current = self.state["appointments"][request.code]
        when = f"{current['day']} at {_spoken_time(current['time'])}"
        if request.intent == "look_up":
            return self._finish(f"Your appointment is on {when}.")
        if request.intent == "cancel":
            self._awaits_confirmation = True
            return f"Shall I cancel your appointment on {when}?"
        if not (request.day and request.time):
            return f"Your appointment is on {when}. Which day and time would you like instead?"
        self._awaits_confirmation = True
        return f"I can offer you {request.day} at {_spoken_time(request.time)}. Shall I book it?"

    def _act(self) -> str:
        request = self._request
        appointment = self.state["appointments"][request.code]
        if request.intent == "cancel":
            self._log_tool("cancel_appointment", code=request.code)
            if not self._claims_without_acting:
                appointment["status"] = "cancelled"
                self._log_result(appointment=dict(appointment))
            return self._finish("Your appointment is cancelled.")
        self._log_tool("move_appointment", code=request.code, day=request.day, time=request.time)
        if not self._claims_without_acting:
            appointment.update(day=request.day, time=request.time)
            self._log_result(appointment=dict(appointment))
        when = f"{request.day} at {_spoken_time(request.time)}"
        return self._finish(f"Done. Your appointment is now on {when}.")

    def _ask_again(self) -> str:
        if self._request.intent == "cancel":
            return self._finish("All right, I will leave it as it is.")
        self._request.day = self._request.time = ""
        return "Which day and time would you like instead?"

    def _finish(self, sentence: str) -> str:
        self._request = _Request(code=self._request.code)
        self.task_done = True
        return f"{sentence} {ANYTHING_ELSE}"

    def _log_tool(self, name: str, **arguments: str | None) -> None:
        self.tool_calls.append({"name": name, "arguments": arguments})

    def _log_result(self, **result: Any) -> None:
        """Note what the tool used last answered. One that did not act has no result."""
        self.tool_calls[-1]["result"] = {"status": "success", **result}


def _heard_time(heard: str) -> str:
    words = re.findall(r"\w+", heard.lower())
    after_at = [False, *(word == "at" for word in words)]
    words = [
        _HOMOPHONES.get(word, word) if follows_at else word
        for word, follows_at in zip(words, after_at, strict=False)
    ]
    match = _TIME.search(" ".join(with_digits(words)))
    return "" if match is None else f"{match['hour']}:{match['minute'] or '00'}"


def _spoken_time(time: str) -> str:
    hour, minute = (int(part) for part in time.split(":"))
    return cardinal(hour) if minute == 0 else f"{cardinal(hour)} {cardinal(minute)}"
