"""The code location of the stack tests: evaluations of a folder, with real calls or planned ones.

An evaluation whose name begins with `planned` places no calls. How its attempts go is read from
`<name>_plan.json` beside its file at every attempt, and what was done is noted in
`<name>_calls.jsonl`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import dagster as dg
from evaluation_fakes import Attempt, FakeCalls

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.dagster_assets import build_evaluation_definitions
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.records import Task

FOLDER_VARIABLE = "STACK_EVALUATIONS"
PLANNED = "planned"
HELD = "held"
_POLL_SECONDS = 0.05


class PlannedCalls(FakeCalls):
    """Attempts as a file plans them, beside which a test can hold them."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__()
        self._folder = folder
        self._name = name

    def attempt(self, task: Task, number: int) -> Attempt:
        return Attempt(self._plan().get(task.id, Attempt.GOOD))

    async def place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        self._note("placed", task)
        try:
            while task.id in self._plan().get(HELD, []):
                await asyncio.sleep(_POLL_SECONDS)
        except asyncio.CancelledError:
            self._note("hung up", task)
            raise
        return await super().place_call(task, attempt, directory, slot)

    def _plan(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self._folder / f"{self._name}_plan.json").read_text())
        return content

    def _note(self, what: str, task: Task) -> None:
        with (self._folder / f"{self._name}_calls.jsonl").open("a") as file:
            file.write(json.dumps([what, task.id]) + "\n")


def _create_planned_run(
    evaluation: Evaluation, tasks: Iterable[Task], *, mode: AttemptMode, run_id: str, **rest: Any
) -> EvaluationRun:
    calls = PlannedCalls(_folder(), evaluation.name)
    return calls.create_run(evaluation, tasks, mode=mode, run_id=run_id, **rest)


def _folder() -> Path:
    return Path(os.environ[FOLDER_VARIABLE])


def _build(path: Path) -> dg.Definitions:
    evaluation = load_evaluation(path)
    if evaluation.name.startswith(PLANNED):
        return build_evaluation_definitions(evaluation, create_run=_create_planned_run)
    return build_evaluation_definitions(evaluation)


@dg.definitions
def definitions() -> dg.Definitions:
    return dg.Definitions.merge(*(_build(path) for path in sorted(_folder().glob("*.yaml"))))
