"""What the caller's own events say it did: the turns it spoke, how the call ended."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator_assets.call.conversation import Event
from orchestrator_assets.call.event_log import AGENT_AUDIO, CALLER_AUDIO

# What EVA called the two sides until its 2.0.
_LEGACY_SIDES = {"elevenlabs_user": CALLER_AUDIO, "framework_agent": AGENT_AUDIO}
_AUDIO_EDGES = {"audio_start", "audio_end"}


@dataclass(frozen=True, slots=True)
class ClaimedTurn:
    """A turn the caller says it spoke. Seconds count from the start of the call.

    `text` is what it meant to say; a turn that is `cut_off` was not played to its end. Where
    nothing says when a turn was spoken, its seconds are NaN.
    """

    turn: int
    text: str
    start_seconds: float
    end_seconds: float
    cut_off: bool


def claimed_turns(events: Iterable[Event]) -> list[ClaimedTurn]:
    """Return the scripted turns the caller says it spoke, in the order of their start.

    Raises ValueError, naming the event, where one lacks what a scripted turn must have.
    """
    turns = [_claimed_turn(event) for event in events if event.get("type") == "user_speech"]
    return sorted(turns, key=lambda turn: turn.start_seconds)


def _claimed_turn(event: Event) -> ClaimedTurn:
    data = _mapping(event.get("data"))
    turn, text = data.get("turn"), data.get("text")
    start, end = _number(data.get("start_seconds")), _number(data.get("end_seconds"))
    if isinstance(turn, bool) or not isinstance(turn, int) or not isinstance(text, str):
        raise ValueError(f"user_speech event {event.get('sequence')} needs `turn` and `text`")
    if start is None or end is None or not 0 <= start <= end:
        raise ValueError(
            f"user_speech event {event.get('sequence')} needs `start_seconds` and a later "
            "`end_seconds`"
        )
    return ClaimedTurn(turn, text, start, end, cut_off=data.get("cut_off") is True)


def ended_reason(events: Sequence[Event]) -> str | None:
    """Return why the call ended, or None if the last event does not end it."""
    if not events or events[-1].get("type") != "connection_state":
        return None
    data = _mapping(events[-1].get("data"))
    reason = _mapping(data.get("details")).get("reason")
    return reason if data.get("state") == "session_ended" and isinstance(reason, str) else None


def last_heard_side(events: Iterable[Event]) -> str | None:
    """Return whose audio edge is the last, `simulated_user` or `assistant`; None without any."""
    edges = [
        (moment, _LEGACY_SIDES.get(side, side))
        for event in events
        if event.get("event_type") in _AUDIO_EDGES
        and isinstance(side := event.get("user"), str)
        and (moment := _number(event.get("audio_timestamp"))) is not None
    ]
    return max(edges, key=lambda edge: edge[0])[1] if edges else None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
