"""What can be wrong with the recordings of a call, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class FindingKind(StrEnum):
    """What was found. The values are stable: they are stored and counted."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    DAMAGED_HEADER = "damaged_header"
    REPAIRED = "repaired"
    UNEQUAL_LENGTH = "unequal_length"
    UNEQUAL_RATE = "unequal_rate"
    WRONG_LENGTH = "wrong_length"
    WALL_CLOCK = "wall_clock"
    SILENT = "silent"
    TOO_QUIET = "too_quiet"
    CLIPPED = "clipped"
    DC_OFFSET = "dc_offset"
    NOISY = "noisy"
    GAP = "gap"
    DRIFT = "drift"
    UNALIGNED = "unaligned"
    OFF_THE_EVENT_LOG = "off_the_event_log"
    NOT_TRANSCRIBED = "not_transcribed"
    TOO_FEW_WORDS = "too_few_words"


class Severity(StrEnum):
    """What a finding means for the recordings."""

    FAULT = "fault"
    """They are no evidence any more."""
    DOUBT = "doubt"
    """People should listen to them."""


class Side(StrEnum):
    """Whose track it is about."""

    CALLER = "caller"
    AGENT = "agent"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `message` says it in one line, side and place included.

    `start_seconds` and `end_seconds` count from the start of the call, where it has a place in
    time. `measured` are the numbers behind it; names end in their unit.
    """

    kind: FindingKind
    side: Side
    severity: Severity
    message: str
    start_seconds: float | None = None
    end_seconds: float | None = None
    measured: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a track, in seconds from its start."""

    start_seconds: float
    end_seconds: float

    @property
    def duration_seconds(self) -> float:
        """How long it lasts."""
        return self.end_seconds - self.start_seconds

    def __str__(self) -> str:
        return f"{self.start_seconds:.2f} to {self.end_seconds:.2f} s"
