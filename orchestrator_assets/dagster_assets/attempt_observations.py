"""Failed attempts as observations of their conversation's partition: what went wrong, and where.

One event per failed attempt and none for one that was accepted, whose materialisation says it all.
"""

from __future__ import annotations

import dagster as dg

from orchestrator_assets.attempts.outcomes import AttemptSummary, TaskOutcome
from orchestrator_assets.dagster_assets.file_links import FileLinks
from orchestrator_assets.dagster_assets.keys import TaskAsset, task_asset_key
from orchestrator_assets.evaluation import Evaluation


def failed_attempt_observations(
    evaluation: Evaluation, outcome: TaskOutcome
) -> list[dg.AssetObservation]:
    """Return an observation for each failed attempt that this invocation made."""
    made = outcome.attempts[len(outcome.attempts) - outcome.attempts_made :]
    return [
        _observation(evaluation, outcome, attempt)
        for attempt in made
        if attempt.number != outcome.accepted_attempt and not attempt.interrupted
    ]


def _observation(
    evaluation: Evaluation, outcome: TaskOutcome, attempt: AttemptSummary
) -> dg.AssetObservation:
    metadata: dict[str, dg.MetadataValue] = {
        "attempt": dg.MetadataValue.int(attempt.number),
        "outcome": dg.MetadataValue.text(attempt.outcome.value),
        "reason": dg.MetadataValue.text(attempt.reason),
        "duration_seconds": dg.MetadataValue.float(round(attempt.duration_seconds, 1)),
        "archive": FileLinks.of(evaluation).to(attempt.directory),
    }
    if attempt.cause is not None:
        metadata["cause"] = dg.MetadataValue.text(attempt.cause.value)
    if attempt.ended_reason is not None:
        metadata["ended_reason"] = dg.MetadataValue.text(attempt.ended_reason.value)
    return dg.AssetObservation(
        task_asset_key(evaluation.name, TaskAsset.CONVERSATION),
        partition=outcome.task.key,
        description=f"attempt {attempt.number} failed: {attempt.reason}",
        metadata=metadata,
    )
