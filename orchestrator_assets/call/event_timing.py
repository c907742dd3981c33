"""Holds the recordings against the event log: did what it tells happen when it says?

The caller logs its turns by the frames in which they were played, and the agent's speech by where a
voice detector found it to begin, live. Both are recorded in the same frames, so the onset of a turn
in the recording lies where the log has it: the caller's within 15 ms, since what is played begins
with sound; the agent's to the frame, since the same detector finds the same in the same samples. A
recording that lost or doubled audio is off from there on.

EVA's log is not compared: it says when audio was sent or came in, not where it lies in a recording.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from orchestrator_assets.audio.findings import Stretch
from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.call.conversation import Event
from orchestrator_assets.call.event_log import AGENT_AUDIO, PROVIDER

ONSET_PAUSE_SECONDS = 0.1
"""Silence that parts sounds, where the caller's turns are looked for."""

_LARGEST_OFFSET_SECONDS = 0.5
_AGENT_PAUSE_SECONDS = 0.38
"""The event log's: 0.4 s of silence end a stretch of the agent's speech."""
_FEWEST_FOR_DRIFT = 4


@dataclass(frozen=True, slots=True)
class EventTiming:
    """How late one side's recording is beside the event log, where both have an onset.

    `offset_ms` is the median; `drift_ms` by how much later the last third is than the first, two
    onsets at least, since one may be soft. None where there are fewer than four.
    """

    onsets: int
    offset_ms: float
    drift_ms: float | None


def caller_turns(events: Iterable[Event]) -> list[Stretch]:
    """Return from when to when the caller's turns were played, by our own event log."""
    turns = []
    for event in events:
        data = event.get("data")
        if event.get("provider") != PROVIDER or event.get("type") != "user_speech":
            continue
        if isinstance(data, dict) and _are_numbers(
            data.get("start_seconds"), data.get("end_seconds")
        ):
            turns.append(Stretch(float(data["start_seconds"]), float(data["end_seconds"])))
    return turns


def caller_timing(events: Sequence[Event], sounds: Sequence[Stretch]) -> EventTiming | None:
    """Return how late the caller's sounds are beside its turns; None where nothing can be compared.

    `sounds` are the stretches of sound in its track, parted by ONSET_PAUSE_SECONDS.
    """
    logged = [turn.start_seconds for turn in caller_turns(events)]
    return _timing(logged, [sound.start_seconds for sound in sounds])


def agent_timing(events: Sequence[Event], voiced: Sequence[SpeechRegion]) -> EventTiming | None:
    """Return how late the agent's speech is beside the log; None where nothing can be compared."""
    return _timing(list(_agent_onsets(events)), _onsets(voiced))


def silent_turns(events: Sequence[Event], sounds: Sequence[Stretch]) -> list[Stretch]:
    """Return the turns of which there is no sound in the caller's track at all."""
    return [
        turn
        for turn in caller_turns(events)
        if turn.duration_seconds >= ONSET_PAUSE_SECONDS
        and not any(
            sound.start_seconds < turn.end_seconds and sound.end_seconds > turn.start_seconds
            for sound in sounds
        )
    ]


def _agent_onsets(events: Iterable[Event]) -> Iterator[float]:
    session_start_ms = None
    for event in events:
        data = event.get("data")
        if event.get("provider") != PROVIDER:
            continue
        if isinstance(data, dict) and data.get("state") == "session_started":
            session_start_ms = event.get("timestamp")
        at = event.get("audio_timestamp")
        started = event.get("event_type") == "audio_start" and event.get("user") == AGENT_AUDIO
        if started and _are_numbers(at, session_start_ms):
            yield float(at) - float(session_start_ms) / 1000  # type: ignore[arg-type]


def _onsets(voiced: Sequence[SpeechRegion]) -> list[float]:
    onsets = [region.start_seconds for region in voiced[:1]]
    for before, region in pairwise(voiced):
        if region.start_seconds - before.end_seconds > _AGENT_PAUSE_SECONDS + 1e-6:
            onsets.append(region.start_seconds)
    return onsets


def _timing(logged: Sequence[float], found: Sequence[float]) -> EventTiming | None:
    late = []
    for at in logged:
        nearest = min((onset - at for onset in found), key=abs, default=None)
        if nearest is not None and abs(nearest) <= _LARGEST_OFFSET_SECONDS:
            late.append(1000 * nearest)
    if not late:
        return None
    drift = None
    if len(late) >= _FEWEST_FOR_DRIFT:
        third = max(2, len(late) // 3)
        drift = median(late[-third:]) - median(late[:third])
    return EventTiming(len(late), median(late), drift)


def _are_numbers(*values: Any) -> bool:
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in values
    )
