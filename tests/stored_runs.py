"""Run directories as a run leaves them, written at once: for what reads thousands of tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from orchestrator_assets.attempts.outcomes import Acceptance, Outcome
from orchestrator_assets.call.conversation import (
    METRICS_FILE,
    RESULT_FILE,
    TRANSCRIPT_FILE,
    ConversationResult,
    EndReason,
)
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
    ValidationResult,
)

Scores = Mapping[str, MetricScore]

BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
SECONDS = 75.0
TURNS = 4


def numbered_tasks(records: int, trials: int = 1) -> list[Task]:
    """Tasks of records `record_00000` and so on."""
    return [
        Task(Record(id=f"record_{number:05}"), trial if trials > 1 else None)
        for number in range(records)
        for trial in range(trials)
    ]


def scored(name: str, value: float, *, turns: int = TURNS) -> MetricScore:
    """A score with evidence of a usual size: a few facts for each turn."""
    evidence = [
        {
            "turn": turn,
            "start_seconds": round(turn * 9.37, 3),
            "end_seconds": round(turn * 9.37 + 4.2, 3),
            "text": "Grüße, what does the appointment on the third cost me?",
        }
        for turn in range(turns)
    ]
    return MetricScore(
        name=name,
        score=value,
        normalized_score=value,
        version="1",
        details={"reason": f"{name} is {value}", "turns": evidence},
    )


def write_stored_run(root: Path, tasks: Iterable[Task], scores: Callable[[Task], Scores]) -> None:
    """Write an accepted conversation of every task, without its audio."""
    run_directory = RunDirectory(root)
    (root / "journal").mkdir(parents=True, exist_ok=True)
    validation = _validation()
    for task in tasks:
        directory = run_directory.task_directory(task)
        directory.mkdir(parents=True)
        computed = scores(task)
        _write_lines(run_directory.journal(task).path, _life(validation, computed))
        result = _result(task).model_dump_json(indent=2)
        (directory / RESULT_FILE).write_text(result, encoding="utf-8")
        _write_lines(directory / TRANSCRIPT_FILE, _transcript())
        _write_scores(directory, task, {**validation.scores, **computed})


def _life(validation: ValidationResult, computed: Scores) -> list[dict[str, Any]]:
    ended = BEGAN + timedelta(seconds=SECONDS)
    whose = {"attempt": 1, "run_id": "run-1", "host": "here", "pid": 1}
    scores = {name: score.normalized_score for name, score in computed.items()}
    return [
        {"event": "started", "time": BEGAN.isoformat(), "fingerprint": "same", **whose},
        {
            "event": "ended",
            "time": ended.isoformat(),
            "ended_reason": EndReason.GOODBYE.value,
            "duration_seconds": SECONDS,
            **whose,
        },
        {
            "event": "judged",
            "time": ended.isoformat(),
            "outcome": Outcome.PASSED.value,
            "reason": "the caller did its part",
            "validation": validation.model_dump(mode="json"),
            **whose,
        },
        {
            "event": "accepted",
            "time": ended.isoformat(),
            "acceptance": Acceptance.VALIDATED.value,
            "fingerprint": "same",
            **whose,
        },
        {"event": "metrics_computed", "time": ended.isoformat(), "scores": scores, **whose},
    ]


def _validation() -> ValidationResult:
    names = (GATE, USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY)
    return ValidationResult(
        gate_passed=True,
        scores={name: scored(name, 1.0) for name in names},
        thresholds={GATE: 1.0, USER_BEHAVIORAL_FIDELITY: 1.0},
    )


def _result(task: Task) -> ConversationResult:
    return ConversationResult(
        record_id=task.record.id,
        completed=True,
        started_at=BEGAN,
        ended_at=BEGAN + timedelta(seconds=SECONDS),
        duration_seconds=SECONDS,
        num_turns=TURNS,
        conversation_ended_reason=EndReason.GOODBYE,
        task_id=task.id,
        attempt=1,
        fingerprint="same",
        clock="media",
    )


def _transcript() -> list[dict[str, Any]]:
    return [
        {
            "timestamp": BEGAN.isoformat(),
            "role": "user" if turn % 2 else "assistant",
            "content": "Grüße, what does the appointment on the third cost me?",
            "start_seconds": turn * 9.0,
            "end_seconds": turn * 9.0 + 4,
        }
        for turn in range(TURNS)
    ]


def _write_scores(directory: Path, task: Task, scores: Scores) -> None:
    document = {
        "record_id": task.id,
        "context": None,
        "metrics": {name: score.model_dump(mode="json") for name, score in scores.items()},
        "aggregate_metrics": {},
    }
    text = json.dumps(document, ensure_ascii=False, indent=2)
    (directory / METRICS_FILE).write_text(text, encoding="utf-8")


def _write_lines(path: Path, entries: Iterable[dict[str, Any]]) -> None:
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    path.write_text(text, encoding="utf-8")
