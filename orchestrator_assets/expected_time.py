"""How long calls will take, by what is known of earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator_assets.attempts.history import PastAttempt
from orchestrator_assets.attempts.outlook import SECONDS_PER_TURN
from orchestrator_assets.call.conversation import ADOPTED_FINGERPRINT
from orchestrator_assets.evaluation import ClockKind, Evaluation
from orchestrator_assets.records import Task

MEDIA_SECONDS_PER_SECOND = 0.2
"""Wall-clock seconds a second of a call takes on the media clock; a guess, until one was made."""

_SECONDS_WITHOUT_TURNS = 60.0
"""A guess for records without a script."""


class ExpectedTime:
    """Estimates for one evaluation. Tell it of all tasks before asking."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._limit = evaluation.conversation_time_limit_seconds
        self._slots = evaluation.max_concurrent_conversations
        self._media = evaluation.clock is ClockKind.MEDIA
        self._own: dict[str, float] = {}
        self._scripted_seconds = 0.0
        self._turns = 0
        self._media_seconds = 0.0
        self._wall_seconds = 0.0

    def learn(self, task: Task, attempts: Iterable[PastAttempt]) -> None:
        """Take the durations of a task's finished attempts into account."""
        durations = []
        for attempt in attempts:
            if attempt.duration_seconds <= 0:
                continue
            durations.append(attempt.duration_seconds)
            timed = attempt.started_at is not None and attempt.ended_at is not None
            if timed and attempt.fingerprint != ADOPTED_FINGERPRINT:
                self._media_seconds += attempt.duration_seconds
                self._wall_seconds += _wall_seconds(attempt)
        if durations:
            self._own[task.key] = sum(durations) / len(durations)
            if task.record.turns:
                self._scripted_seconds += self._own[task.key]
                self._turns += len(task.record.turns)

    def call_seconds(self, task: Task) -> float:
        """Return how long a call of the task takes on its own clock.

        By its earlier calls, else by its turns, which take as long as those of the other tasks.
        """
        if task.key in self._own:
            return self._own[task.key]
        return min(self._guess(len(task.record.turns)), self._limit)

    def _guess(self, turns: int) -> float:
        if turns > 0:
            return turns * (
                self._scripted_seconds / self._turns if self._turns else SECONDS_PER_TURN
            )
        if not self._own:
            return _SECONDS_WITHOUT_TURNS
        return sum(self._own.values()) / len(self._own)

    def run_seconds(self, tasks: Sequence[Task]) -> float:
        """Return how long calls of all these tasks take by the wall clock, in all slots."""
        calls = [self.call_seconds(task) for task in tasks]
        longest_way = max(sum(calls) / self._slots, max(calls, default=0.0))
        return longest_way * self._pace()

    def _pace(self) -> float:
        if not self._media:
            return 1.0
        if self._media_seconds == 0:
            return MEDIA_SECONDS_PER_SECOND
        return self._wall_seconds / self._media_seconds


def _wall_seconds(attempt: PastAttempt) -> float:
    if attempt.started_at is None or attempt.ended_at is None:
        return 0.0
    return max(0.0, (attempt.ended_at - attempt.started_at).total_seconds())
