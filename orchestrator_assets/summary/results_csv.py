"""`results.csv`: a row a task, in data-set order. EVA's columns first, ours after them."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence

from orchestrator_assets.metrics.base import MetricScore
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


def results_csv(states: Sequence[TaskState], composites: Collection[str] = ()) -> str:
    """Return the table as text, RFC 4180 but for its plain line ends.

    Each metric has a column of scores: normalised, or raw where the metric has no normalised one,
    such as `response_latency` in seconds; empty where there is none. The composites follow them.
    """
    metrics = sorted({name for state in states for name in state.scores} - set(composites))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*EVA_COLUMNS, *OWN_COLUMNS, *metrics, *composites])
    for state in states:
        scores = [*_scores(state.scores, metrics), *_scores(state.composites, composites)]
        writer.writerow([*_eva(state), *_own(state), *scores])
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


def _scores(scores: Mapping[str, MetricScore], names: Collection[str]) -> list[str]:
    return [_score(scores.get(name)) for name in names]


def _score(score: MetricScore | None) -> str:
    value = score_value(score)
    return "" if value is None else f"{value:.6g}"
