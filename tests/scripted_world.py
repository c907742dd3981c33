"""A tiny world in memory: a caller that follows a script, a judge and a metric, on real files."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator_assets.attempts.loop import AttemptLimits, AttemptMode, run_attempts
from orchestrator_assets.attempts.outcomes import AttemptSummary, Cause, TaskOutcome
from orchestrator_assets.call.conversation import ConversationResult, EndReason
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.atomic import write_json, write_text
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    ValidationResult,
)

PLAN_FILE = "plan.json"


@dataclass(frozen=True)
class Call:
    """How one call goes, and what the judge will find in it."""

    reason: EndReason = EndReason.GOODBYE
    fails: tuple[str, ...] = ()
    fidelity: float = 1.0
    seconds: float = 10.0
    raises: BaseException | None = None
    raises_before_live: bool = False
    leaves_result: bool = True
    cause: str | None = None


GOOD = Call()
BAD_CALLER = Call(fails=(USER_BEHAVIORAL_FIDELITY,), fidelity=0.0)
HANGUP = Call(EndReason.AGENT_HANGUP)
TIMEOUT = Call(EndReason.TIME_LIMIT_EXCEEDED)
BAD_TIMEOUT = Call(EndReason.TIME_LIMIT_EXCEEDED, fails=(USER_BEHAVIORAL_FIDELITY,), fidelity=0.0)


async def until(condition: Callable[[], bool]) -> None:
    """Let everything else go on until the condition holds."""
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


def task(record_id: str, *, trial: int | None = None, turns: int = 0) -> Task:
    said = tuple({"say": f"turn {index}"} for index in range(turns))
    return Task(Record.model_validate({"id": record_id, "turns": said}), trial)


@dataclass
class World:
    """Scripts, and what was done. A script's last call repeats for ever."""

    root: Path
    scripts: dict[str, list[Call]] = field(default_factory=dict)
    fingerprint: str = "same settings"
    claimed_fingerprint: str | None = None
    judge_outages: Counter[str] = field(default_factory=Counter)
    judge_errors: dict[str, Exception] = field(default_factory=dict)
    metric_errors: dict[str, Exception] = field(default_factory=dict)
    computes_nothing: bool = False
    held: dict[tuple[str, int], asyncio.Event] = field(default_factory=dict)
    held_preparing: dict[str, asyncio.Event] = field(default_factory=dict)
    held_writing: dict[str, asyncio.Event] = field(default_factory=dict)
    held_judging: dict[str, asyncio.Event] = field(default_factory=dict)
    held_metrics: dict[str, asyncio.Event] = field(default_factory=dict)

    calls: list[tuple[str, int]] = field(default_factory=list)
    went_live: defaultdict[tuple[str, int], asyncio.Event] = field(
        default_factory=lambda: defaultdict(asyncio.Event)
    )
    judged: list[tuple[str, str, bool]] = field(default_factory=list)
    scored: list[tuple[str, str]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    hung_up: list[str] = field(default_factory=list)
    live: int = 0
    most_live: int = 0
    runs: int = 0
    listener: Listener | None = None

    @property
    def run_directory(self) -> RunDirectory:
        return RunDirectory(self.root)

    async def run(self, *tasks: Task, **options: Any) -> list[TaskOutcome]:
        """Run to the end; the outcomes come in the order of `tasks`."""
        settled = {}
        async with aclosing(self.attempts(*tasks, **options)) as outcomes:
            async for outcome in outcomes:
                settled[outcome.task.id] = outcome
        return [settled[each.id] for each in tasks]

    async def settle(self, one: Task, **options: Any) -> TaskOutcome:
        [outcome] = await self.run(one, **options)
        return outcome

    def attempts(
        self,
        *tasks: Task,
        max_attempts: int = 3,
        time_limited: int = 1,
        concurrent: int = 4,
        mode: AttemptMode = AttemptMode.CALL,
        retry_on: tuple[Cause, ...] = tuple(Cause),
        **options: Any,
    ) -> Any:
        self.runs += 1
        return run_attempts(
            tasks,
            run_directory=self.run_directory,
            place_call=self.place_call,
            validate=self.validate,
            compute_metrics=self.compute_metrics,
            fingerprint=lambda record: self.fingerprint,
            limits=AttemptLimits(max_attempts, time_limited, concurrent, retry_on),
            run_id=f"run-{self.runs}",
            mode=mode,
            listener=self.listener,
            sleep=self.sleep,
            **options,
        )

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        script = self.scripts.get(task.id, [GOOD])
        turn = sum(1 for called, _ in self.calls if called == task.id)
        call = script[min(turn, len(script) - 1)]
        self.calls.append((task.id, attempt))
        if call.raises is not None and call.raises_before_live:
            raise call.raises
        if task.id in self.held_preparing:
            await self.held_preparing[task.id].wait()
        async with slot:
            await self._live(task, attempt)
        if task.id in self.held_writing:
            await self.held_writing[task.id].wait()
        result = self.leave_files(task, attempt, directory, call)
        if call.raises is not None:
            raise call.raises
        return result

    async def _live(self, task: Task, attempt: int) -> None:
        self.live += 1
        self.most_live = max(self.live, self.most_live)
        self.went_live[task.id, attempt].set()
        try:
            if (task.id, attempt) in self.held:
                await self.held[task.id, attempt].wait()
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.hung_up.append(task.id)
            raise
        finally:
            self.live -= 1

    def leave_files(
        self, task: Task, attempt: int, directory: Path, call: Call
    ) -> ConversationResult:
        """Write what a call leaves; the plan tells the judge what to find."""
        plan = {
            "call": f"{task.id}#{attempt}",
            "fails": call.fails,
            "fidelity": call.fidelity,
            "gate": call.reason is EndReason.GOODBYE,
        }
        write_json(directory / PLAN_FILE, plan)
        now = datetime.now(UTC)
        result = ConversationResult(
            record_id=task.record.id,
            completed=call.reason is EndReason.GOODBYE,
            started_at=now,
            ended_at=now,
            duration_seconds=call.seconds,
            num_turns=2,
            conversation_ended_reason=call.reason,
            task_id=task.id,
            attempt=attempt,
            fingerprint=self.claimed_fingerprint or self.fingerprint,
            clock="media",
            cause=call.cause,
        )
        if call.leaves_result:
            write_text(directory / "result.json", result.model_dump_json())
        return result

    async def validate(self, task: Task, directory: Path, *, bypass_gate: bool) -> ValidationResult:
        plan = read_plan(directory)
        self.judged.append((task.id, plan["call"], bypass_gate))
        if task.id in self.held_judging:
            await self.held_judging[task.id].wait()
        if task.id in self.judge_errors:
            raise self.judge_errors[task.id]
        passes = 1.0 if plan["gate"] else 0.0
        scores = {GATE: MetricScore(name=GATE, score=passes, normalized_score=passes)}
        if not (plan["gate"] or bypass_gate):
            return ValidationResult(gate_passed=False, scores=scores)
        errored: tuple[str, ...] = ()
        if self.judge_outages[task.id] > 0:
            self.judge_outages[task.id] -= 1
            errored = (USER_BEHAVIORAL_FIDELITY,)
        scores[USER_BEHAVIORAL_FIDELITY] = MetricScore(
            name=USER_BEHAVIORAL_FIDELITY,
            score=None if errored else plan["fidelity"],
            normalized_score=None if errored else plan["fidelity"],
            error="no answer" if errored else None,
        )
        merge_scores(directory, task.id, scores)
        return ValidationResult(
            gate_passed=plan["gate"],
            gate_bypassed=bypass_gate and not plan["gate"],
            scores=scores,
            failed_metrics=() if errored else tuple(plan["fails"]),
            errored_metrics=errored,
            failure_details=dict.fromkeys(plan["fails"], "it said something else"),
        )

    async def compute_metrics(self, task: Task, directory: Path) -> Mapping[str, MetricScore]:
        self.scored.append((task.id, read_plan(directory)["call"]))
        if task.id in self.held_metrics:
            await self.held_metrics[task.id].wait()
        if task.id in self.metric_errors:
            raise self.metric_errors[task.id]
        if self.computes_nothing:
            return {}
        scores = {
            "task_completion": MetricScore(name="task_completion", score=1.0, normalized_score=1.0)
        }
        merge_scores(directory, task.id, scores)
        return scores

    def journal(self, one: Task) -> list[dict[str, Any]]:
        return self.run_directory.journal(one).read()

    def history(self, one: Task) -> list[tuple[str, int]]:
        return [(entry["event"], entry["attempt"]) for entry in self.journal(one)]

    def current_call(self, one: Task) -> str:
        """Return which call lies in the task's directory."""
        return read_plan(self.run_directory.task_directory(one))["call"]

    def archived_call(self, one: Task, attempt: int) -> str:
        """Return which call lies in an archive."""
        return read_plan(self.run_directory.archive_directory(one, attempt))["call"]

    def record_directories(self) -> list[str]:
        records = self.run_directory.records_path
        return sorted(
            path.relative_to(records).as_posix() for path in records.rglob("*") if path.is_dir()
        )

    def tree(self) -> dict[str, bytes]:
        """Return the content of every file below records/."""
        records = self.run_directory.records_path
        return {
            path.relative_to(records).as_posix(): path.read_bytes()
            for path in sorted(records.rglob("*"))
            if path.is_file()
        }


def read_plan(directory: Path) -> dict[str, Any]:
    return dict(json.loads((directory / PLAN_FILE).read_text(encoding="utf-8")))


def read_result(directory: Path) -> dict[str, Any]:
    return dict(json.loads((directory / "result.json").read_text(encoding="utf-8")))


@dataclass
class Listener:
    """Remembers what it was told, and breaks if told to."""

    told: list[tuple[str, str, int | None]] = field(default_factory=list)
    summaries: list[AttemptSummary] = field(default_factory=list)
    breaks: bool = False

    def attempt_started(self, task: Task, attempt: int) -> None:
        self.told.append(("started", task.id, attempt))
        if self.breaks:
            raise RuntimeError("broken listener")

    def attempt_ended(self, task: Task, summary: AttemptSummary) -> None:
        self.told.append(("ended", task.id, summary.number))
        self.summaries.append(summary)

    def task_settled(self, outcome: TaskOutcome) -> None:
        self.told.append(("settled", outcome.task.id, None))
