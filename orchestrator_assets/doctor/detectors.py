"""The detectors: for every planted fault, what of the pipeline's own report shows it.

All are asked about every call. They tell faults apart by evidence: a clipped turn may be misheard
too, but is no garbled one; a silent agent leaves its task undone, but has claimed nothing. What is
said of the agent is read from accepted conversations only, as anybody else would.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator_assets.attempts.outcomes import Acceptance, Cause
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.doctor.observation import Observation
from orchestrator_assets.doctor.planted_fault import PlantedFault
from orchestrator_assets.evaluation import SpeechFidelityThresholds
from orchestrator_assets.metrics.owed_silence import BrokenBy
from orchestrator_assets.validation.complaint import Rule

SLOW_FROM_SECONDS = 1.5
"""The mean response latency from which an agent is called slow."""
METRICS = (
    "task_completion",
    "response_latency",
    "agent_interruptions",
    "dead_air",
    "conversation_completed_on_time",
)
"""The metrics that the detectors read."""

_SOUND = SpeechFidelityThresholds()
_MOSTLY_MISHEARD = 0.5
"""Character error rate: a turn with another code in it stays below 0.4, a garbled one above 0.6."""

_Turn = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Detector:
    """Finds one fault. `find` returns its evidence in a line, or None where it finds nothing."""

    fault: PlantedFault
    reads: str
    """What of the pipeline's report it looks at, for people."""
    find: Callable[[Observation], str | None]


def _wrong_code(call: Observation) -> str | None:
    return _first(
        f"turn {turn['turn']}: heard {turn['heard']!r}, not {', '.join(turn['missing_details'])}"
        for turn in _misheard(call)
        if _is_wrong_detail(turn)
    )


def _garbled(call: Observation) -> str | None:
    return _first(
        f"turn {turn['turn']}: heard {turn['heard']!r} for {turn['meant']!r}"
        for turn in _misheard(call)
        if not _is_wrong_detail(turn)
    )


def _too_quiet(call: Observation) -> str | None:
    return _first(
        f"turn {turn['turn']}: {level:.1f} dBFS"
        for turn in _faulty_sounds(call)
        if (level := min(_levels_dbfs(turn))) < _SOUND.quietest_dbfs
    )


def _clipped(call: Observation) -> str | None:
    return _first(
        f"turn {turn['turn']}: {share:.0%} clipped"
        for turn in _faulty_sounds(call)
        if (share := max(sound["clipped_share"] for sound in turn["sound"].values()))
        > _SOUND.most_clipped
    )


def _complained(rule: Rule) -> Callable[[Observation], str | None]:
    def find(call: Observation) -> str | None:
        return _first(
            str(complaint["reason"])
            for complaint in call.complaints
            if complaint["rule"] == rule.value
        )

    return find


def _dead_air(call: Observation) -> str | None:
    # A silence that the agent ended itself is a late answer.
    dead_air = call.score("dead_air")
    return _first(
        f"silent for {silence['seconds']:.1f} s after turn {silence['turn']}, to the end"
        for silence in (dead_air.details["silences"] if dead_air is not None else ())
        if silence["broken_by"] == BrokenBy.END_OF_CALL
    )


def _talks_over(call: Observation) -> str | None:
    interruptions = call.score("agent_interruptions")
    return _first(
        f"turn {each['turn']} from {each['at_seconds']:.2f} s, for {each['overlap_seconds']:.1f} s"
        for each in (interruptions.details["interruptions"] if interruptions is not None else ())
    )


def _slow(call: Observation) -> str | None:
    latency = call.score("response_latency")
    if latency is None or latency.score is None or latency.score < SLOW_FROM_SECONDS:
        return None
    return f"mean latency {latency.score:.2f} s"


def _dropped_socket(call: Observation) -> str | None:
    attempt = call.attempt
    if attempt is None or attempt.cause is not Cause.TRANSPORT:
        return None
    return attempt.reason if call.ended_reason == EndReason.TRANSPORT_ERROR else None


def _claimed_booking(call: Observation) -> str | None:
    # An agent that fell silent, or was still talking, has not said that it was done.
    completion = call.score("task_completion")
    if completion is None or completion.normalized_score != 0:
        return None
    return "the task is undone" if call.ended_reason == EndReason.GOODBYE else None


def _never_stops(call: Observation) -> str | None:
    on_time = call.score("conversation_completed_on_time")
    if on_time is None or on_time.normalized_score != 0:
        return None
    limited = call.outcome.acceptance is Acceptance.TIME_LIMIT
    return str(on_time.details["reason"]) if limited else None


def _misheard(call: Observation) -> Iterator[_Turn]:
    """Yield the turns whose sound is fine and whose words are not."""
    return (turn for turn in call.turns_not_as_meant if not turn["faults"])


def _is_wrong_detail(turn: _Turn) -> bool:
    """Tell whether the turn was understood but for a code, date, time or amount."""
    understood = turn["character_error_rate"] <= _MOSTLY_MISHEARD
    return bool(turn["missing_details"]) and understood


def _faulty_sounds(call: Observation) -> Iterator[_Turn]:
    return (turn for turn in call.turns_not_as_meant if turn["faults"])


def _levels_dbfs(turn: _Turn) -> Iterator[float]:
    for sound in turn["sound"].values():
        level = sound["level_dbfs"]
        yield -math.inf if level is None else level


def _first(evidence: Iterator[str]) -> str | None:
    return next(evidence, None)


_SPEECH, _BEHAVIOUR = "user_speech_fidelity", "user_behavioral_fidelity"

DETECTORS: tuple[Detector, ...] = (
    Detector(PlantedFault.WRONG_CODE, f"{_SPEECH}: detail not heard", _wrong_code),
    Detector(PlantedFault.SKIPPED_TURN, f"{_BEHAVIOUR}: left out", _complained(Rule.LEFT_OUT)),
    Detector(
        PlantedFault.EARLY_HANG_UP, f"{_BEHAVIOUR}: hung up early", _complained(Rule.HUNG_UP_EARLY)
    ),
    Detector(PlantedFault.GARBLED, f"{_SPEECH}: other words heard", _garbled),
    Detector(PlantedFault.TOO_QUIET, f"{_SPEECH}: level", _too_quiet),
    Detector(PlantedFault.CLIPPED, f"{_SPEECH}: clipping", _clipped),
    Detector(PlantedFault.DEAD_AIR, "dead_air until the end of the call", _dead_air),
    Detector(PlantedFault.TALKS_OVER, "agent_interruptions", _talks_over),
    Detector(PlantedFault.SLOW, f"response_latency from {SLOW_FROM_SECONDS:g} s", _slow),
    Detector(PlantedFault.DROPPED_SOCKET, "gate: transport_error", _dropped_socket),
    Detector(PlantedFault.CLAIMED_BOOKING, "task_completion 0 after goodbye", _claimed_booking),
    Detector(
        PlantedFault.NEVER_STOPS,
        "conversation_completed_on_time: limit",
        _never_stops,
    ),
)
"""One for every planted fault."""
