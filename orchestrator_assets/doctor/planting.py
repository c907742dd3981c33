"""Which calls doctor places: the same ones for the same seeds."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator_assets.demo.agent_call import AgentFault
from orchestrator_assets.doctor.planted_fault import PlantedFault
from orchestrator_assets.doctor.scripts import CODE_TURN, Script, choose_script
from orchestrator_assets.records import CallerFaultKind, Record

# With half a second of silence before it takes a turn for ended, the agent answers within 0.9 s.
_THINK_MS = (100, 200, 300, 400)
_SLOW_THINK_MS = (1_200, 1_500, 1_800, 2_200, 2_600)
_VOICES = (
    {"pitch": 1.0, "speed": 0.95},
    {"pitch": 1.05, "speed": 1.05},
    {"pitch": 1.1, "speed": 0.9},
    {"pitch": 1.1, "speed": 1.0},
    {"pitch": 1.15, "speed": 1.0},
    {"pitch": 1.2, "speed": 0.95},
)


@dataclass(frozen=True, slots=True)
class PlantedCall:
    """A call to place, and what is wrong in it: `fault`, or nothing. The agent is told to think
    for `think_seconds` before it answers."""

    record: Record
    fault: PlantedFault | None
    think_seconds: float


def planted_calls(seeds: int, faults: Sequence[PlantedFault]) -> list[PlantedCall]:
    """Return a call for every fault and seed from 0, and as many with nothing wrong in them.

    The seed chooses what the caller wants and how it sounds, where in the call the fault is, and
    how long the agent thinks.
    """
    calls = []
    for seed in range(seeds):
        for fault in faults:
            calls.append(_call(f"{fault.value}_{seed}", fault))
            calls.append(_call(f"clean_{len(calls) // 2}", None))
    return calls


def _call(record_id: str, fault: PlantedFault | None) -> PlantedCall:
    random_numbers = random.Random(record_id)
    script = choose_script(random_numbers, fault)
    think = _SLOW_THINK_MS if fault is PlantedFault.SLOW else _THINK_MS
    think_ms = random_numbers.choice(think)
    record = Record.model_validate(
        {
            "id": record_id,
            "goal": script.goal,
            "turns": script.turns,
            "caller_voice": random_numbers.choice(_VOICES),
            "caller_faults": _caller_faults(fault, script, random_numbers),
            "agent_parameters": {
                "think_ms": str(think_ms),
                **_agent_fault(fault, random_numbers),
            },
            "expected_outcome": {"changes": script.changes},
        }
    )
    return PlantedCall(record, fault, think_ms / 1000)


def _caller_faults(
    fault: PlantedFault | None, script: Script, random_numbers: random.Random
) -> list[dict[str, Any]]:
    if fault not in _CALLER_FAULTS:
        return []
    last = len(script.turns) - 1
    turn = random_numbers.randint(0, last)
    planted: dict[str, Any] = {"kind": _CALLER_FAULTS[fault]}
    match fault:
        case PlantedFault.WRONG_CODE:
            turn = CODE_TURN
            planted["spoken"] = script.with_wrong_code(random_numbers)
        case PlantedFault.SKIPPED_TURN:
            # Leaving out the last turn is hanging up early.
            turn = random_numbers.randint(0, last - 1)
        case PlantedFault.EARLY_HANG_UP:
            turn = random_numbers.randint(1, last)
    return [{**planted, "turn": turn}]


def _agent_fault(fault: PlantedFault | None, random_numbers: random.Random) -> dict[str, str]:
    if fault not in _AGENT_FAULTS:
        return {}
    parameters = {"fault": _AGENT_FAULTS[fault].value}
    if fault in _HAPPENING_ONCE:
        parameters["fault_turn"] = str(random_numbers.choice(_TURNS_OF_AGENT_FAULTS))
    return parameters


_CALLER_FAULTS: Mapping[PlantedFault | None, CallerFaultKind] = {
    PlantedFault.WRONG_CODE: CallerFaultKind.MISSPEAK,
    PlantedFault.SKIPPED_TURN: CallerFaultKind.SKIP_TURN,
    PlantedFault.EARLY_HANG_UP: CallerFaultKind.HANG_UP_EARLY,
    PlantedFault.GARBLED: CallerFaultKind.GARBLE,
    PlantedFault.TOO_QUIET: CallerFaultKind.TOO_QUIET,
    PlantedFault.CLIPPED: CallerFaultKind.CLIP,
}
_AGENT_FAULTS: Mapping[PlantedFault | None, AgentFault] = {
    PlantedFault.DEAD_AIR: AgentFault.DEAD_AIR,
    PlantedFault.TALKS_OVER: AgentFault.TALKS_OVER,
    PlantedFault.DROPPED_SOCKET: AgentFault.DROPS_SOCKET,
    PlantedFault.CLAIMED_BOOKING: AgentFault.CLAIMS_WITHOUT_ACTING,
    PlantedFault.NEVER_STOPS: AgentFault.NEVER_STOPS_TALKING,
}
_HAPPENING_ONCE = {PlantedFault.TALKS_OVER, PlantedFault.DROPPED_SOCKET}
# In later turns there may be no more than a yes, too short to be talked over.
_TURNS_OF_AGENT_FAULTS = (0, CODE_TURN)
