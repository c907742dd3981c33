"""A made-up evaluation: how long each call takes and which attempts fail, always the same ones."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator_assets.call.conversation import RESULT_FILE, ConversationResult, EndReason
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record, Task
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    ValidationResult,
)

MEDIAN_SECONDS = 90.0
SIGMA = 0.5
LIMIT_SECONDS = 620.0
LIMITED = 0.02
FAILING = 0.10
WOBBLE = 0.10
"""By how much, at most, a record's calls differ in length from one another."""
MAX_ATTEMPTS = 3
SLOTS = 50


@dataclass(frozen=True)
class Workload:
    """`seed` decides how long the records are, `run` tells runs of the same records apart.

    A record's length is its own: those that run into the limit (2 %) always do. Which attempts
    fail (10 %) is chance. `scale` turns the workload's seconds into the clock's.
    """

    size: int
    seed: int = 1
    run: int = 0
    scale: float = 1.0

    def tasks(self) -> list[Task]:
        """Return the tasks, whose number of turns says nothing."""
        return [
            Task(Record.model_validate({"id": f"record-{index}"})) for index in range(self.size)
        ]

    def seconds(self, index: int, attempt: int) -> float:
        """Return how long a call takes, unscaled."""
        record = random.Random(f"{self.seed}/{index}")
        if record.random() < LIMITED:
            return LIMIT_SECONDS
        length = MEDIAN_SECONDS * math.exp(SIGMA * record.gauss(0, 1))
        call = random.Random(f"{self.seed}/{self.run}/{index}/{attempt}")
        return min(length * (1 + WOBBLE * call.uniform(-1, 1)), LIMIT_SECONDS)

    def fails(self, index: int, attempt: int) -> bool:
        """Tell whether the attempt is not valid."""
        return random.Random(f"{self.seed}/{self.run}/fail/{index}/{attempt}").random() < FAILING

    def chain(self, index: int) -> list[float]:
        """Return the lengths of all attempts a record takes."""
        lengths: list[float] = []
        for attempt in range(1, MAX_ATTEMPTS + 1):
            lengths.append(self.seconds(index, attempt))
            if not self.fails(index, attempt):
                break
        return lengths

    def lower_bound(self) -> float:
        """Return the makespan nobody can beat: the slots always full, or the longest chain."""
        chains = [sum(self.chain(index)) for index in range(self.size)]
        return max(sum(chains) / SLOTS, *chains)


class FakeCalls:
    """Calls, judges and metrics that leave the one file the loop reads."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload

    async def place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        """Take as long as the workload says."""
        index = index_of(task)
        seconds = self._workload.seconds(index, attempt)
        async with slot:
            await asyncio.sleep(seconds * self._workload.scale)
        limited = seconds >= LIMIT_SECONDS
        now = datetime.now(UTC)
        result = ConversationResult(
            record_id=task.record.id,
            completed=not limited,
            started_at=now,
            ended_at=now,
            duration_seconds=seconds,
            conversation_ended_reason=(
                EndReason.TIME_LIMIT_EXCEEDED if limited else EndReason.GOODBYE
            ),
            task_id=task.id,
            attempt=attempt,
            fingerprint="same",
            clock="media",
        )
        (directory / RESULT_FILE).write_text(result.model_dump_json(), encoding="utf-8")
        return result

    async def validate(self, task: Task, directory: Path, *, bypass_gate: bool) -> ValidationResult:
        """Fail the attempts the workload says."""
        result = ConversationResult.model_validate_json((directory / RESULT_FILE).read_text())
        fails = self._workload.fails(index_of(task), result.attempt)
        value = 0.0 if fails else 1.0
        return ValidationResult(
            gate_passed=not bypass_gate,
            gate_bypassed=bypass_gate,
            scores={
                GATE: MetricScore(name=GATE, score=1.0, normalized_score=1.0),
                USER_BEHAVIORAL_FIDELITY: MetricScore(
                    name=USER_BEHAVIORAL_FIDELITY, score=value, normalized_score=value
                ),
            },
            failed_metrics=(USER_BEHAVIORAL_FIDELITY,) if fails else (),
        )

    async def compute_metrics(self, task: Task, directory: Path) -> Mapping[str, MetricScore]:
        """Score nothing."""
        return {}


def index_of(task: Task) -> int:
    """Return which record of the workload a task is."""
    return int(task.record.id.rpartition("-")[2])
