"""`results.csv`: a row a task, in data-set order. EVA's columns first, ours after them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from orchestrator_assets.summary.score_value import score_value
from orchestrator_assets.summary.task_state import TaskState, TaskStatus

EVA_COLUMNS = (
    "record_id",
    "completed",
    "duration_seconds",
    "num_turns",
    "num_tool_calls",
    "ended_reason",
    "error",
)
OWN_COLUMNS = ("key", "status", "acceptance", "attempts", "outcome", "cause")


def results_csv(states: Sequence[TaskState]) -> str:
    """Return the table as text, RFC 4180 but for its plain line ends.

    Each metric has a column of scores: normalised, or raw where the metric has no normalised one,
    such as `response_latency` in seconds; empty where there is none.
    """
    metrics = sorted({name for state in states for name in state.scores})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*EVA_COLUMNS, *OWN_COLUMNS, *metrics])
    for state in states:
        writer.writerow([*_eva(state), *_own(state), *_scores(state, metrics)])
    return text.getvalue()


def _eva(state: TaskState) -> list[str]:
    accepted = state.status is TaskStatus.ACCEPTED
    result, attempt = state.result, state.shown_attempt
    duration = attempt.duration_seconds if result is None and attempt else 0.0
    reason = attempt.ended_reason if attempt else None
    return [
        state.task.id,
        "true" if accepted else "false",
        f"{result.duration_seconds if result else duration:.2f}",
        str(result.num_turns if result else 0),
        str(result.num_tool_calls if result else 0),
        (result.conversation_ended_reason if result else reason) or "",
        "" if accepted else state.status.value,
    ]


def _own(state: TaskState) -> list[str]:
    attempt = state.shown_attempt
    return [
        state.task.key,
        state.status.value,
        state.accepted.acceptance.value if state.accepted else "",
        str(len(state.history.finished)),
        attempt.outcome.value if attempt and attempt.outcome else "",
        attempt.cause.value if attempt and attempt.cause else "",
    ]


def _scores(state: TaskState, metrics: Sequence[str]) -> list[str]:
    return [_score(state, name) for name in metrics]


def _score(state: TaskState, name: str) -> str:
    value = score_value(state.scores.get(name))
    return "" if value is None else f"{value:.6g}"
