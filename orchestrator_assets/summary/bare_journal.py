"""A task's journal without the evidence of its verdicts, which is most of it: three times as fast.

Whoever only asks what happened, and not why a verdict was what it was, reads it so.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import Field, ValidationError

from orchestrator_assets.attempts.events import AttemptEvent
from orchestrator_assets.attempts.outcomes import Outcome
from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.journal import Journal
from orchestrator_assets.summary.bare_scores import BareScore
from orchestrator_assets.validation.result import ValidationResult

_Event = TypeVar("_Event", bound=AttemptEvent)


class _BareEvent(AttemptEvent):
    """An entry whose `validation` is skipped by the JSON parser, under a name it never has."""

    validation: None = Field(default=None, alias="(left out)")


class _BareVerdict(ValidationResult):
    # A narrower type of dictionary: nobody puts scores into a verdict.
    scores: dict[str, BareScore]  # type: ignore[assignment]


class _VerdictEvent(AttemptEvent):
    validation: _BareVerdict | None = None


def read_bare_events(journal: Journal) -> list[AttemptEvent]:
    """Return a journal's entries without verdicts; none if there is no file.

    A torn last line is left out. Raises RunDirectoryError if another line is not one of ours.
    """
    return [*_read(journal, _BareEvent)]


def read_verdicts(journal: Journal) -> list[AttemptEvent]:
    """Return a journal's entries, with verdicts if an attempt did not pass by one.

    Their scores have no details. Otherwise like `read_bare_events`.
    """
    events = read_bare_events(journal)
    if all(event.outcome in (None, Outcome.PASSED) for event in events):
        return events
    return [*_read(journal, _VerdictEvent)]


def _read(journal: Journal, kind: type[_Event]) -> list[_Event]:
    try:
        *lines, torn = journal.path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    events = [_event(journal, kind, number, line) for number, line in enumerate(lines, start=1)]
    if torn:
        try:
            events.append(kind.model_validate_json(torn))
        except ValidationError:
            return events
    return events


def _event(journal: Journal, kind: type[_Event], number: int, line: bytes) -> _Event:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in detail["loc"])
        where = f"{journal.path}, line {number}{': ' if field else ''}{field}"
        raise RunDirectoryError(
            f"{where}: {detail['msg']}; restore the line from a backup, or delete it"
        ) from error
