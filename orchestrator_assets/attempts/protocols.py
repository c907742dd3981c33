"""What the attempt loop is given: how to call, judge, score and report, and within which limits."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from orchestrator_assets.attempts.outcomes import AttemptSummary, Cause, TaskOutcome
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Task
from orchestrator_assets.validation.result import ValidationResult


class AttemptMode(StrEnum):
    """What an invocation does with the tasks it is given."""

    CALL = "call"
    """Reuse accepted conversations, judge unjudged ones, call for the rest."""
    FORCE = "force"
    """Call again, whatever is there."""
    VALIDATE_ONLY = "validate_only"
    """Judge the conversations that are there, accepted ones too. Calls nobody, moves nothing."""
    METRICS_ONLY = "metrics_only"
    """Compute metrics of accepted conversations, those they have included if they are asked for."""


@dataclass(frozen=True, slots=True)
class AttemptLimits:
    """The bounds of one invocation.

    `max_attempts` are the calls a task may use; 0 judges what is there and calls nobody.
    `max_time_limit_attempts` is how many of a task's attempts may run into the time limit before a
    well-played one of them is accepted; 0 never accepts one. An attempt that failed by a cause that
    is not in `retry_on` is the task's last; see `end_of_tries` for time-limited ones. A call whose
    judge gives no answer is not repeated in any case.
    """

    max_attempts: int
    max_time_limit_attempts: int
    max_concurrent_conversations: int
    retry_on: Collection[Cause] = tuple(Cause)


@dataclass(frozen=True, slots=True)
class JudgeRetries:
    """How long a judge may take, how often one that gives no answer is asked, and when again.

    No more than `at_once` are asked at the same time, so that none spends its time in a queue.
    """

    timeout_seconds: float = 600.0
    at_once: int = 16
    tries: int = 3
    first_delay_seconds: float = 1.0
    factor: float = 2.0

    def delays(self) -> list[float]:
        """Return the waits between the tries, in seconds."""
        return [self.first_delay_seconds * self.factor**index for index in range(self.tries - 1)]


@dataclass(frozen=True, slots=True)
class BusyWaits:
    """How long to wait for a provider that is busy, and how often before the attempt has failed.

    A wait doubles each time up to the longest, is never shorter than the provider asked for, and
    is stretched by up to `stretch` so that not all come back at once. `jitter` returns 0 to 1.
    """

    waits: int = 10
    first_seconds: float = 1.0
    longest_seconds: float = 60.0
    stretch: float = 0.25
    jitter: Callable[[], float] = random.random

    def backoff(self) -> Iterator[float]:
        """Yield the waits, in seconds, before they are stretched."""
        for index in range(self.waits):
            yield min(self.first_seconds * 2.0**index, self.longest_seconds)

    def stretched(self, backoff: float, retry_after: float | None) -> float:
        """Return how long to wait, in seconds."""
        return max(backoff, retry_after or 0.0) * (1 + self.stretch * self.jitter())


class PlaceCall(Protocol):
    """Places the call of one attempt and returns once all its files, the result last, are written.

    It holds `slot` only while the call is live. When cancelled it hangs up and passes that on.
    Raises ProviderBusyError if nothing was called and a later try costs no attempt, and
    InterruptedCallError if the call broke off through no fault of its own.
    """

    async def __call__(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
        /,
    ) -> ConversationResult:
        """Place the call, and leave its files in `directory`."""
        ...


class Validate(Protocol):
    """Judges the conversation in a directory, and writes the scores to its `metrics.json`.

    Scores that are there already are computed again: it is asked only when they are in doubt.
    It is cancelled when it takes too long; that is no answer, and says nothing of the conversation.
    """

    async def __call__(
        self, task: Task, directory: Path, /, *, bypass_gate: bool
    ) -> ValidationResult:
        """Return the verdict; with `bypass_gate` also on a call the gate rejects."""
        ...


class ComputeMetrics(Protocol):
    """Scores the agent in an accepted conversation, and writes the scores to `metrics.json`.

    It computes what it was made for, which may leave scores that are there already as they are.
    """

    async def __call__(self, task: Task, directory: Path, /) -> Mapping[str, MetricScore]:
        """Return the scores that were computed, by name.

        What could not be scored has an `error`, or a `latest_error` beside its earlier score.
        """
        ...


class AttemptListener(Protocol):
    """Is told of progress, on the event loop; must return at once."""

    def attempt_started(self, task: Task, attempt: int) -> None:
        """The attempt's call goes live."""

    def attempt_ended(self, task: Task, summary: AttemptSummary) -> None:
        """The attempt was judged, and accepted or archived."""

    def task_settled(self, outcome: TaskOutcome) -> None:
        """Nothing more happens to the task in this invocation."""
