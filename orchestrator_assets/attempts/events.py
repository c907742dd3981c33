"""The entries of a task's journal."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.journal import Journal
from orchestrator_assets.validation.result import ValidationResult


class AttemptEventKind(StrEnum):
    """What happened to an attempt."""

    STARTED = "started"
    ENDED = "ended"
    CANCELLED = "cancelled"
    JUDGED = "judged"
    ARCHIVED = "archived"
    ACCEPTED = "accepted"
    METRICS_COMPUTED = "metrics_computed"
    GAVE_UP = "gave_up"
    """After this attempt the task has failed; a later one belongs to another try at it."""


class AttemptEvent(BaseModel):
    """One line of a task's journal. Which fields are set depends on `event`."""

    model_config = ConfigDict(frozen=True)

    event: AttemptEventKind
    attempt: int = Field(ge=1)
    time: datetime = Field(default_factory=lambda: datetime.now(UTC))
    run_id: str
    host: str = Field(default_factory=socket.gethostname)
    pid: int = Field(default_factory=os.getpid)

    adopted: bool | None = Field(default=None, description="started; the call was EVA's, not ours")
    fingerprint: str | None = Field(default=None, description="started, ended, accepted")
    ended_reason: EndReason | None = Field(default=None, description="ended")
    duration_seconds: float | None = Field(default=None, description="ended; of the call")
    error: str | None = Field(default=None, description="ended, judged, metrics_computed")
    outcome: Outcome | None = Field(default=None, description="judged")
    cause: Cause | None = Field(default=None, description="judged")
    reason: str | None = Field(default=None, description="judged, gave_up; one line for people")
    validation: ValidationResult | None = Field(default=None, description="judged")
    archive: str | None = Field(
        default=None, description="archived: where to; accepted: restored from where"
    )
    acceptance: Acceptance | None = Field(default=None, description="accepted")
    stopped_early: bool | None = Field(
        default=None, description="gave_up; though there were attempts left"
    )
    scores: dict[str, float | None] | None = Field(
        default=None, description="metrics_computed; normalised, null where there is none"
    )


def read_events(journal: Journal) -> list[AttemptEvent]:
    """Return a task's journal. Raises RunDirectoryError if an entry is not one of ours."""
    return [_event(journal, number, entry) for number, entry in enumerate(journal.read(), start=1)]


def _event(journal: Journal, number: int, entry: dict[str, Any]) -> AttemptEvent:
    try:
        return AttemptEvent.model_validate(entry)
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(str(part) for part in detail["loc"])
        raise RunDirectoryError(
            f"{journal.path}, line {number}: {field}: {detail['msg']}; "
            "was it written by a newer version? Otherwise restore or delete the line"
        ) from error


def append_event(journal: Journal, event: AttemptEvent) -> None:
    """Add an entry to a task's journal, durably."""
    journal.append(event.model_dump(mode="json", exclude_none=True))
