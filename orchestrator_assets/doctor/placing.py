"""Places the planted calls: one evaluation of the embedded agent, on the media clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptListener, Validate
from orchestrator_assets.demo import EVALUATION_FILE
from orchestrator_assets.doctor.detectors import METRICS
from orchestrator_assets.doctor.planting import PlantedCall
from orchestrator_assets.evaluation import Caller, ClockKind, Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.store.atomic import write_text

NAME = "doctor"

_TIME_LIMIT_SECONDS = 60.0
"""The longest call that ends by itself takes 52: a slow agent is asked to move a booking."""
_INACTIVITY_TIMEOUT_SECONDS = 8.0
_CALLS_AT_ONCE = 6


def make_evaluation(calls: Sequence[PlantedCall], directory: Path) -> Evaluation:
    """Write the calls' data set into a directory; return the evaluation that places them there."""
    data_set = directory / "records.jsonl"
    rows = (call.record.model_dump(mode="json", exclude_defaults=True) for call in calls)
    write_text(data_set, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return Evaluation(
        name=NAME,
        data_set=data_set,
        agent=load_evaluation(EVALUATION_FILE).agent,
        caller=Caller(inactivity_timeout_seconds=_INACTIVITY_TIMEOUT_SECONDS),
        clock=ClockKind.MEDIA,
        max_attempts=1,
        max_time_limit_attempts=1,
        conversation_time_limit_seconds=_TIME_LIMIT_SECONDS,
        max_concurrent_conversations=_CALLS_AT_ONCE,
        metrics=METRICS,
        output_dir=directory,
    )


async def place(
    evaluation: Evaluation,
    *,
    listener: AttemptListener | None = None,
    validate: Validate | None = None,
) -> list[TaskOutcome]:
    """Place, validate and score every call once; return how each settled.

    `validate` takes the place of the evaluation's own validation. Raises PreflightError or
    SpeechEngineError where no call can be placed or judged.
    """
    run = EvaluationRun(
        evaluation, evaluation.load_tasks(), run_id=NAME, listener=listener, validate=validate
    )
    async with aclosing(run.outcomes()) as outcomes:
        return [outcome async for outcome in outcomes]
