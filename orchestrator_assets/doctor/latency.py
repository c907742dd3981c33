"""How far the measured response latency is from the true one.

The truth is known without measuring: the caller's sound ends with the last sample it was given to
say, the line being digitally silent otherwise, and the agent reports at which sample of the call it
sent its reply. That it waited as it was told to (`think_seconds`) is checked against its own count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.call.call_report import read_call_report
from orchestrator_assets.call.conversation import CALLER_AUDIO_FILE
from orchestrator_assets.call.conversation_files import read_events, read_track
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.validation.caller_account import ClaimedTurn, claimed_turns

_SAME_TURN_SECONDS = 0.3
_FRAME_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class TurnLatency:
    """A caller turn's latency, true and measured. `measured_seconds` is None where it is missing.

    `end_seconds` is where the caller's sound ended, from the start of the call.
    """

    turn: int
    end_seconds: float
    true_seconds: float
    measured_seconds: float | None

    @property
    def error_seconds(self) -> float:
        """How far off the measured one is; infinite where it is missing."""
        if self.measured_seconds is None:
            return float("inf")
        return abs(self.measured_seconds - self.true_seconds)


@dataclass(frozen=True, slots=True)
class LatencyErrors:
    """The errors over the turns of several calls."""

    turns: tuple[TurnLatency, ...]

    @property
    def seconds(self) -> list[float]:
        """The errors of the turns that were measured."""
        return [turn.error_seconds for turn in self.turns if turn.measured_seconds is not None]

    @property
    def not_measured(self) -> int:
        """How many turns the agent answered, but have no latency."""
        return len(self.turns) - len(self.seconds)

    @property
    def mean_seconds(self) -> float | None:
        """The mean error; None without a turn."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else None

    @property
    def max_seconds(self) -> float | None:
        """The largest error; None without a turn."""
        return max(self.seconds, default=None)

    def shortcomings(self, largest_seconds: float) -> Iterator[str]:
        """Yield what is wrong, in a line each, if no error may be larger."""
        if self.not_measured:
            turns = f"{self.not_measured} of {len(self.turns)} turns"
            yield f"response_latency has no value for {turns}"
        if self.max_seconds is not None and self.max_seconds > largest_seconds:
            yield (
                f"response_latency is off by up to {self.max_seconds * 1000:.0f} ms, "
                f"more than {largest_seconds * 1000:.0f} ms"
            )


def turn_latencies(
    directory: Path, think_seconds: float, measured: MetricScore | None
) -> list[TurnLatency]:
    """Return the latency of every turn that the agent answered in a call.

    `measured` is the metric's score of it, if there is one. Raises ValueError where the agent did
    not wait as it was told, since there is no truth then; ConversationFileError for what can't be
    read.
    """
    samples, sample_rate_hz = read_track(directory, CALLER_AUDIO_FILE)
    replies = list(_replies(directory, think_seconds))
    latencies = []
    for claim in claimed_turns(read_events(directory)):
        end = _end_of_sound(claim, samples, sample_rate_hz)
        reply = next((each for each in replies if each > end), None)
        if reply is not None:
            true = reply - end
            latencies.append(TurnLatency(claim.turn, end, true, _measured(measured, end)))
    return latencies


def _replies(directory: Path, think_seconds: float) -> Iterator[float]:
    """Yield when the agent sent its replies, in seconds of the call."""
    report = read_call_report(directory)
    turns: Sequence[Mapping[str, Any]] = (report.model_extra or {})["turns"] if report else []
    for turn in turns:
        replied = turn["replied_seconds"]
        if replied is None:
            continue
        thought = replied - turn["ended_seconds"]
        if abs(thought - think_seconds) > _FRAME_SECONDS / 2:
            raise ValueError(f"the agent was to think for {think_seconds} s, but took {thought} s")
        yield replied


def _end_of_sound(claim: ClaimedTurn, samples: Samples, sample_rate_hz: int) -> float:
    first, last = (
        round(each * sample_rate_hz) for each in (claim.start_seconds, claim.end_seconds)
    )
    sounding = np.flatnonzero(samples[first:last])
    return (first + int(sounding[-1]) + 1) / sample_rate_hz if sounding.size else claim.end_seconds


def _measured(score: MetricScore | None, end_seconds: float) -> float | None:
    for turn in score.details["per_turn"] if score is not None else ():
        same = abs(turn["end_seconds"] - end_seconds) < _SAME_TURN_SECONDS
        if same and turn["latency_seconds"] is not None:
            return float(turn["latency_seconds"])
    return None
