"""What can be set for one run: in the launchpad, in a backfill, or with `dagster job launch`."""

from __future__ import annotations

import dagster as dg
from pydantic import Field, TypeAdapter, ValidationError

from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.evaluation import Evaluation, not_named
from orchestrator_assets.metrics.selection import MetricSelection, ScoreChoice

_CALLING_SETTINGS = ("max_attempts", "max_concurrent_conversations")


class TaskChoice(dg.Config):
    """Which tasks a run without partitions works on."""

    task_keys: list[str] | None = Field(
        default=None,
        description=(
            "Only the tasks with these partition keys. For runs without partitions; not together "
            "with record_ids."
        ),
    )
    record_ids: list[str] | None = Field(
        default=None,
        description=(
            "Only the tasks of these records, by their ids in the data set, every trial of them. "
            "For runs without partitions; not together with task_keys."
        ),
    )


class CallLimits(dg.Config):
    """Limits that hold for this run instead of the evaluation's own."""

    max_attempts: int | None = Field(
        default=None,
        description=(
            "Attempts a task may use in this run, 0 to 20; 0 judges what is there and calls "
            "nobody. If absent, as in the evaluation."
        ),
    )
    max_concurrent_conversations: int | None = Field(
        default=None,
        description="Calls at a time in this run, 1 to 1000. If absent, as in the evaluation.",
    )


class RevalidationConfig(TaskChoice, CallLimits):
    """Run configuration of the job that judges accepted conversations again."""


class MetricsConfig(TaskChoice):
    """Run configuration of the job that computes metrics again."""

    metric_names: list[str] | None = Field(
        default=None,
        description=(
            "Only these metrics, by the names they have in the evaluation's `metrics`; all of them "
            "if absent. The scores of the others are left as they are."
        ),
    )
    scores: str = Field(
        default=ScoreChoice.ALL.value,
        description=(
            "Which of their scores: `lacking` (never computed, or errored), `failed` (errored when "
            "they were last computed), `outdated` (these, and those of another version of the "
            "metric's code), or `all`. A score that can't be computed again stays as it was."
        ),
    )


class AttemptConfig(TaskChoice, CallLimits):
    """Run configuration of the assets, and of the job that works on the whole data set."""

    force: bool = Field(
        default=False,
        description="Call again even where an accepted conversation is on disk.",
    )
    revalidate: bool = Field(
        default=False,
        description=(
            "Judge again what was accepted, by the thresholds and judges of today, then call where "
            "it no longer passes. Not together with force."
        ),
    )


class RerunConfig(AttemptConfig):
    """Run configuration of the job that works on the partitions that failed."""

    include_missing: bool = Field(
        default=False,
        description="Also work on tasks that were never settled: new, interrupted or cancelled.",
    )


def with_limits(evaluation: Evaluation, limits: CallLimits) -> Evaluation:
    """Return the evaluation as this run is to work on it. What shapes a call stays as it is.

    Raises ConfigurationError, listing every limit that an evaluation could not have.
    """
    wanted = {name: getattr(limits, name) for name in _CALLING_SETTINGS}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    faults = [
        Fault(None, f"run config, {name}", fault)
        for name, value in wanted.items()
        if (fault := _fault(name, value)) is not None
    ]
    if faults:
        raise ConfigurationError(faults)
    return evaluation.model_copy(update=wanted)


def metric_selection_of(evaluation: Evaluation, config: MetricsConfig) -> MetricSelection:
    """Return which scores a run computes.

    Raises ConfigurationError, listing every metric that the evaluation does not name.
    """
    names = config.metric_names
    faults = [
        Fault(None, "run config, metric_names", not_named(evaluation, name))
        for name in names or ()
        if name not in evaluation.metrics
    ]
    if config.scores not in tuple(ScoreChoice):
        choices = ", ".join(ScoreChoice)
        message = f"{config.scores!r} can't be used; choose one of {choices}"
        faults.append(Fault(None, "run config, scores", message))
    if names is not None and not names:
        faults.append(Fault(None, "run config, metric_names", "is empty; name a metric"))
    if faults:
        raise ConfigurationError(faults)
    return MetricSelection(ScoreChoice(config.scores), None if names is None else frozenset(names))


def _fault(name: str, value: int) -> str | None:
    field = Evaluation.model_fields[name].rebuild_annotation()
    try:
        TypeAdapter(field).validate_python(value)
    except ValidationError as error:
        return f"{value} can't be used: {error.errors()[0]['msg']}"
    return None
