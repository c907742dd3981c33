"""Run directories as EVA writes them, small ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STARTED_MS = 1_772_403_723_723
"""2026-03-01 22:22:03.723 UTC."""

CONFIG = {
    "run_id": "2026-03-01_22-22-03.547446_airline_en_gpt",
    "dataset_path": "data/airline_dataset.json",
    "num_trials": 1,
    "record_ids": None,
    "debug": False,
    "max_rerun_attempts": 3,
    "validation_thresholds": {"user_behavioral_fidelity": 1.0, "max_time_limit_attempts": 1},
    "max_concurrent_conversations": 2,
    "conversation_time_limit_seconds": 360,
    "model": {"llm": "gpt-5.2"},
    "provenance": None,
}


def write_run(directory: Path, **config: Any) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "records").mkdir()
    (directory / "config.json").write_text(json.dumps({**CONFIG, **config}), encoding="utf-8")
    return directory


def write_conversation(
    directory: Path,
    record_id: str = "1.1",
    *,
    reason: str | None = "goodbye",
    last_event_reason: str | None = "goodbye",
    scores: dict[str, Any] | None = None,
    files: Sequence[str] = (),
    **result: Any,
) -> Path:
    """Write a call of 20 seconds that ran where it is five hours earlier than in London."""
    directory.mkdir(parents=True)
    stale = f"output/2026-03-01_22-22-03.547446/records/{record_id}"
    write_json(
        directory / "result.json",
        {
            "record_id": record_id,
            "completed": True,
            "error": None,
            "started_at": "2026-03-01T17:22:03.569036",
            "ended_at": "2026-03-01T17:22:23.569036",
            "duration_seconds": 20.0,
            "output_dir": stale,
            "audio_user_path": f"{stale}/audio_user_clean.wav",
            "transcript_path": f"{stale}/transcript.jsonl",
            "user_simulator_logs_path": f"{stale}/user_simulator_events.jsonl",
            "num_turns": 1,
            "conversation_ended_reason": reason,
            "llm_latency": {"mean_ms": 3304.7},
            **result,
        },
    )
    write_lines(directory / "user_simulator_events.jsonl", *events(last_event_reason))
    write_lines(
        directory / "transcript.jsonl",
        {"timestamp": str(STARTED_MS + 1_500), "type": "assistant", "content": "Hello?"},
        {"timestamp": str(STARTED_MS + 4_000), "type": "user", "content": " Bye. "},
    )
    if scores is not None:
        metrics = {name: {"name": name, **score} for name, score in scores.items()}
        write_json(directory / "metrics.json", {"record_id": record_id, "metrics": metrics})
    for name in files:
        (directory / name).write_bytes(b"not really audio")
    return directory


def events(last_reason: str | None) -> list[dict[str, Any]]:
    def at(seconds: float, **event: Any) -> dict[str, Any]:
        return {"timestamp": STARTED_MS + round(seconds * 1000), "sequence": 1, **event}

    def edge(seconds: float, kind: str, side: str) -> dict[str, Any]:
        moment = STARTED_MS / 1000 + seconds
        return at(seconds, event_type=kind, user=side, audio_timestamp=moment)

    rows = [
        at(0, type="connection_state", data={"state": "session_started", "details": {}}),
        edge(1, "audio_start", "framework_agent"),
        edge(2, "audio_end", "framework_agent"),
        edge(3, "audio_start", "elevenlabs_user"),
        edge(4, "audio_end", "elevenlabs_user"),
    ]
    if last_reason is not None:
        details = {"reason": last_reason}
        data = {"state": "session_ended", "details": details}
        rows.append(at(20, type="connection_state", data=data))
    return rows


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def write_lines(path: Path, *rows: Any) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_data_set(path: Path, *records: dict[str, Any] | str) -> Path:
    rows = [{"id": record} if isinstance(record, str) else record for record in records]
    write_json(path, rows)
    return path


def content_of(directory: Path) -> dict[str, bytes]:
    """Return all files below a directory, to tell whether any of them was touched."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
