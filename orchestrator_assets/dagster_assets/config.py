"""What can be set when an evaluation's assets are materialised."""

from __future__ import annotations

import dagster as dg
from pydantic import Field


class AttemptConfig(dg.Config):
    """Run configuration of the attempts."""

    force: bool = Field(
        default=False,
        description="Call again even where an accepted conversation is on disk.",
    )
    task_keys: list[str] | None = Field(
        default=None,
        description=(
            "Partition keys to work on in a run that was launched without partitions; "
            "if absent, the partitions that failed."
        ),
    )
