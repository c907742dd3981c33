"""Which time-limited attempt, if any, makes a task successful (A5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchestrator_assets.attempts.history import PastAttempt
from orchestrator_assets.attempts.outcomes import Outcome


def time_limit_candidate(
    attempts: Iterable[PastAttempt],
    *,
    max_time_limit_attempts: int,
    current: int | None,
    is_there: Callable[[int], bool],
) -> int | None:
    """Return the number of the time-limited attempt to accept, if it is time to accept one.

    `attempts` are those made under the present settings; `current` lies in the task's directory;
    `is_there` tells whether the archive of an earlier one still exists. The current attempt wins,
    then the highest mean score, then the earliest.
    """
    limited = [attempt for attempt in attempts if attempt.outcome is Outcome.TIME_LIMIT_EXCEEDED]
    if max_time_limit_attempts == 0 or len(limited) < max_time_limit_attempts:
        return None
    passed = [attempt for attempt in limited if _played_well(attempt)]
    if any(attempt.number == current for attempt in passed):
        return current
    earlier = [attempt for attempt in passed if is_there(attempt.number)]
    best = max(earlier, key=lambda attempt: (_mean_score(attempt), -attempt.number), default=None)
    return None if best is None else best.number


def _played_well(attempt: PastAttempt) -> bool:
    validation = attempt.validation
    return validation is not None and validation.gate_bypassed and validation.passed


def _mean_score(attempt: PastAttempt) -> float:
    # The gate is part of the scores, but the same for all time-limited attempts.
    scores = [
        score.normalized_score
        for score in (attempt.validation.scores.values() if attempt.validation else ())
        if score.normalized_score is not None
    ]
    return sum(scores) / len(scores) if scores else 0.0
