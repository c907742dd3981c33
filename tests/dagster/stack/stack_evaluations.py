"""The evaluations of the stack tests: some whose calls are planned, some whose calls are real."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation_fakes import write_evaluation
from slow_agent import EVENTS_FILE
from stack_definitions import HELD

PLANNED_RECORDS = [f"record_{number}" for number in range(10)]
REAL_RECORDS = ["first", "second", "slow", "hangs_up"]
"""The last one's caller hangs up before it has said what it wants; `slow` can be held."""

_PLANNED = ("planned_reruns", "planned_backfills", "planned_cancellation", "planned_new_records")
_TURNS = [
    "Hello, can you tell me when my appointment is?",
    "My booking code is M3RW9.",
    "No, thank you. Goodbye.",
]


def write_evaluations(folder: Path) -> None:
    """Write what the code server is to load."""
    folder.mkdir(parents=True)
    for name in _PLANNED:
        write_evaluation(folder, PLANNED_RECORDS, name=name, max_attempts=1)
        plan_calls(folder, name)
    for name in ("canceled", "killed", "shown"):
        _write_real_evaluation(folder, name)


def plan_calls(folder: Path, name: str, *, held: list[str] | None = None, **attempts: str) -> None:
    """Plan how the attempts of records go from now on; what is not named is good."""
    path = folder / f"{name}_plan.json"
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps({**attempts, HELD: held or []}), encoding="utf-8")
    temporary.replace(path)


def write_records(folder: Path, name: str, record_ids: Sequence[str]) -> None:
    """Replace the data set of an evaluation whose calls are planned."""
    path = folder / f"{name}_records.json"
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps([{"id": record_id} for record_id in record_ids]))
    temporary.replace(path)


def planned_calls(folder: Path, name: str, what: str = "placed") -> list[str]:
    """Return the records whose calls were placed, or hung up, in order."""
    return [record for done, record in _lines(folder / f"{name}_calls.jsonl") if done == what]


def agent_events(folder: Path, held: str) -> list[str]:
    """Return the Twilio events, but for `media`, of the calls that a file can hold."""
    events = _lines(folder / EVENTS_FILE)
    return [event["event"] for event in events if event["held"] == held]


def _lines(path: Path) -> list[Any]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def held_file(folder: Path, name: str) -> Path:
    """Return the file that, as long as it is there, makes the agent crawl in one call."""
    return folder / f"hold_{name}"


def _write_real_evaluation(folder: Path, name: str) -> None:
    records: list[dict[str, Any]] = [
        {"id": record_id, "turns": _TURNS} for record_id in REAL_RECORDS
    ]
    _, _, slow, hangs_up = records
    slow["agent_parameters"] = {"held": held_file(folder, name).name}
    hangs_up["caller_faults"] = [{"kind": "hang_up_early", "turn": 1}]
    data_set = folder / f"{name}_records.json"
    data_set.write_text(json.dumps(records), encoding="utf-8")
    agent = [sys.executable, str(Path(__file__).parent / "slow_agent.py")]
    evaluation = {
        "name": name,
        "data_set": data_set.name,
        "agent": {
            "command": [*agent, "--port", "{port}", "--folder", str(folder)],
            "url": "ws://127.0.0.1:{port}/media",
        },
        "clock": "media",
        "max_attempts": 1,
        "max_concurrent_conversations": 4,
        "output_dir": str(folder.parent / "runs"),
        "metrics": ["response_latency"],
    }
    (folder / f"{name}.yaml").write_text(json.dumps(evaluation), encoding="utf-8")
