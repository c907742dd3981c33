"""The faults that are planted, one in a call at most."""

from __future__ import annotations

from enum import StrEnum


class PlantedFault(StrEnum):
    """What goes wrong in a call, on purpose: first the caller's faults, then the agent's."""

    WRONG_CODE = "wrong_code"
    """The caller says another booking code than it means to."""
    SKIPPED_TURN = "skipped_turn"
    EARLY_HANG_UP = "early_hang_up"
    """The caller hangs up where it should have said its next turn."""
    GARBLED = "garbled"
    """A turn is as loud as ever, and nobody could understand a word."""
    TOO_QUIET = "too_quiet"
    """A turn is so quiet that nobody could hear it."""
    CLIPPED = "clipped"
    """A turn is driven far into full scale."""
    DEAD_AIR = "dead_air"
    """The agent stops answering."""
    TALKS_OVER = "talks_over"
    """The agent begins to speak while the caller is speaking."""
    SLOW = "slow"
    """The agent takes long to answer, by a time that is known."""
    DROPPED_SOCKET = "dropped_socket"
    """The agent's connection breaks in the middle of the call."""
    CLAIMED_BOOKING = "claimed_booking"
    """The agent says that it has changed a booking, and has not."""
    NEVER_STOPS = "never_stops"
    """The agent talks until the time limit ends the call."""
