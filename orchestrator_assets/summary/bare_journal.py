"""A task's journal without the evidence of its verdicts, which is most of it: three times as fast.

Whoever only asks what happened, and not why a verdict was what it was, reads it so.
"""

from __future__ import annotations

from pydantic import Field, ValidationError

from orchestrator_assets.attempts.events import AttemptEvent
from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.journal import Journal


class _BareEvent(AttemptEvent):
    """An entry whose `validation` is skipped by the JSON parser, under a name it never has."""

    validation: None = Field(default=None, alias="(left out)")


def read_bare_events(journal: Journal) -> list[AttemptEvent]:
    """Return a journal's entries; none if there is no file. A torn last line is left out.

    Raises RunDirectoryError if another line is not one of ours.
    """
    try:
        *lines, torn = journal.path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    events = [_event(journal, number, line) for number, line in enumerate(lines, start=1)]
    if torn:
        try:
            events.append(_BareEvent.model_validate_json(torn))
        except ValidationError:
            return events
    return events


def _event(journal: Journal, number: int, line: bytes) -> AttemptEvent:
    try:
        return _BareEvent.model_validate_json(line)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in detail["loc"])
        where = f"{journal.path}, line {number}{': ' if field else ''}{field}"
        raise RunDirectoryError(
            f"{where}: {detail['msg']}; restore the line from a backup, or delete it"
        ) from error
