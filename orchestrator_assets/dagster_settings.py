"""How an evaluation is shown and spread in Dagster: nothing here shapes a call."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

# What Dagster accepts; checked here so that a fault is named with its file and field.
_Owner = Annotated[str, StringConstraints(pattern=r"^(team:.+|[^@\s]+@[^@\s.]+(\.[^@\s.]+)+)$")]
_LABEL = r"[A-Za-z0-9_.-]{1,63}"
_TagKey = Annotated[str, StringConstraints(pattern=rf"^({_LABEL}/)?{_LABEL}$")]
_TagValue = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{0,63}$")]
_Kind = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,49}$")]

_OTHER_KINDS = 8
"""Dagster takes ten kinds an asset, and every asset has up to two of its own."""


class AutomaticReruns(BaseModel):
    """When the sensor that reruns failed tasks does so; it is off until somebody turns it on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wait_seconds: float = Field(
        default=600, ge=0, description="Rest after the evaluation's last run, whatever started it."
    )
    max_reruns: int = Field(
        default=3, ge=1, description="Reruns the sensor gives a task whose record stays the same."
    )
    same_cause_limit: int = Field(
        default=3,
        ge=1,
        description="Failures by one cause in a row after which a task is left to people.",
    )


class DagsterSettings(BaseModel):
    """What an evaluation says of its assets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_partitions_per_run: int | None = Field(
        default=None,
        ge=1,
        description=(
            "Backfills are split into runs of at most so many tasks, for run launchers to spread "
            "over machines; all in one run if absent. Limits of the evaluation hold in each run."
        ),
    )
    owners: tuple[_Owner, ...] = Field(
        default=(), description="Who answers for the assets: `team:<name>` or e-mail addresses."
    )
    tags: dict[_TagKey, _TagValue] = Field(default_factory=dict, description="Put on every asset.")
    kinds: tuple[_Kind, ...] = Field(
        default=(), max_length=_OTHER_KINDS, description="Shown on every asset beside its own."
    )
    files_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="Where `output_dir` is served, if it is: then files are links, not paths.",
    )
    drop_retired_partitions: bool = Field(
        default=False,
        description=(
            "Let the new-records sensor delete the partitions of records that were taken out of "
            "the data set. Their files stay."
        ),
    )
    nightly_at: str = Field(
        default="0 2 * * *",
        description="Cron expression, in UTC, of the schedule that calls every task again.",
    )
    reruns: AutomaticReruns = AutomaticReruns()
