"""What retrying costs, and what it does to the scores: `attempts.economics` of the summary.

Attempts in which the simulated caller, a judge or our own side went wrong are repeated, and the
scores are those of the conversations that were selected in the end. So that nobody takes the
selection for the agent's merit, this states what it cost, and beside every mean over the accepted
conversations the mean over first attempts, had those been kept.

A first attempt that was archived was judged, so its validation metrics are known, but the agent was
not scored on it, and is not for this purpose either: reading the recordings takes longer than
everything else in the summary. Such an attempt counts as `unknown`; for metrics between 0 and 1,
`lowest` and `highest` say where the mean would lie, whatever the unknown scores are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from orchestrator_assets.attempts.history import PastAttempt
from orchestrator_assets.attempts.outcomes import Cause
from orchestrator_assets.metrics.pass_at_k import Floats
from orchestrator_assets.summary.score_table import ScoreTable, score_table
from orchestrator_assets.summary.score_value import ScoreStanding
from orchestrator_assets.summary.task_state import TaskState, TaskStatus, first_attempt


class _Tried(NamedTuple):
    state: TaskState
    first: PastAttempt


def economics(states: Sequence[TaskState]) -> dict[str, Any]:
    """Return the costs by cause, the success rates and the scores, first attempts against all.

    `first_attempts` are those of tasks that have a finished one; `valid` is the first attempt that
    was accepted, or passed and was called again later by force. Rates are of `tasks`, None of none.
    """
    firsts = [(state, first_attempt(state)) for state in states]
    tried = [_Tried(state, first) for state, first in firsts if first is not None]
    seconds = sum(each.duration_seconds for state in states for each in state.history.finished)
    return {
        "seconds": round(seconds, 3),
        "invalid_by_cause": _invalid_by_cause(states),
        "first_attempts": _rate(tried, sum(map(_first_was_valid, tried))),
        "as_selected": _rate(
            tried, sum(each.state.status is TaskStatus.ACCEPTED for each in tried)
        ),
        "scores": _scores([each.state for each in tried]),
    }


def _invalid_by_cause(states: Sequence[TaskState]) -> dict[str, Any]:
    invalid = [attempt for state in states for attempt in state.invalid]
    by_cause = {cause: [each for each in invalid if each.cause is cause] for cause in Cause}
    return {
        cause.value: {
            "attempts": len(attempts),
            "seconds": round(sum(each.duration_seconds for each in attempts), 3),
        }
        for cause, attempts in by_cause.items()
    }


def _rate(tried: Sequence[_Tried], valid: int) -> dict[str, Any]:
    rate = valid / len(tried) if tried else None
    return {"tasks": len(tried), "valid": valid, "success_rate": rate}


def _first_was_valid(tried: _Tried) -> bool:
    accepted = tried.state.accepted
    return tried.first.passed or (accepted is not None and accepted.number == tried.first.number)


def _scores(states: Sequence[TaskState]) -> dict[str, Any]:
    names = sorted({name for state in states for name in (*state.scores, *state.first_scores)})
    selected = score_table([state.scores for state in states], names)
    others = [row for row, state in enumerate(states) if state.first_scores is not state.scores]
    of_others = score_table([states[row].first_scores for row in others], names)
    first = selected.with_rows(others, of_others)
    return {name: _compared(selected, first, column) for column, name in enumerate(names)}


def _compared(selected: ScoreTable, first: ScoreTable, column: int) -> dict[str, Any]:
    """Return the means of a metric over the same tasks."""
    values, first_values = selected.values[:, column], first.values[:, column]
    known, first_known = ~np.isnan(values), ~np.isnan(first_values)
    errored = first.standings[:, column] == ScoreStanding.ERRORED
    unknown = int((first.absent[:, column] | errored).sum())
    of_first: dict[str, Any] = {**_mean(first_values[first_known]), "unknown": unknown}
    total = int(first_known.sum()) + unknown
    if total and not (_has_raw(selected, column) or _has_raw(first, column)):
        lowest = float(first_values[first_known].sum())
        of_first["lowest"] = lowest / total
        of_first["highest"] = (lowest + unknown) / total
    return {
        "as_selected": _mean(values[known]),
        "first_attempts": of_first,
        "both_known": int((known & first_known).sum()),
    }


def _mean(values: Floats) -> dict[str, Any]:
    return {"mean": float(values.mean()) if values.size else None, "count": int(values.size)}


def _has_raw(table: ScoreTable, column: int) -> bool:
    """Tell whether there is a score that need not lie between 0 and 1."""
    has_value = ~np.isnan(table.values[:, column])
    return bool((has_value & np.isnan(table.normalised[:, column])).any())
