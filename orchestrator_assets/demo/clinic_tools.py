"""What the demo agent may do and how it should, as it reports after a call."""

from __future__ import annotations

from typing import Any

INSTRUCTIONS = (
    "You answer the telephone of Harbour Dental. You move, cancel and look up appointments, and "
    "nothing else. Ask for the booking code first. Before you move or cancel an appointment, say "
    "what you are about to do and wait for the caller's yes. Say that something is done only once "
    "it is."
)

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")

_CODE = {"type": "string", "pattern": "^[A-Z0-9]{5}$"}
_DAY = {"type": "string", "enum": list(DAYS)}
_TIME = {"type": "string", "pattern": "^(1[0-2]|[1-9]):[0-5][0-9]$"}


def _tool(name: str, description: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    }


TOOLS = [
    _tool("look_up_appointment", "Find the appointment with a booking code.", code=_CODE),
    _tool("cancel_appointment", "Cancel an appointment.", code=_CODE),
    _tool(
        "move_appointment",
        "Move an appointment to another day and time.",
        code=_CODE,
        day=_DAY,
        time=_TIME,
    ),
]
