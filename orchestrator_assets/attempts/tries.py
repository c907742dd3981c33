"""Whether a task is tried again after an attempt that did not make it successful: the rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orchestrator_assets.attempts.history import PastAttempt
from orchestrator_assets.attempts.outcomes import Cause, Outcome
from orchestrator_assets.attempts.protocols import AttemptLimits

SAME_FAILURES_IN_A_ROW = 3
"""So often the same failure is put down to chance; what fails on is broken (A11)."""

_VARYING = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}|\d+(?:[.,:]\d+)*", re.I)


class EndOfTries(NamedTuple):
    """Why a task is not tried again. `early`: though its attempts are not used up."""

    reason: str
    early: bool


class FailureSignature(NamedTuple):
    """What two failures have in common when they are the same one."""

    outcome: Outcome | None
    cause: Cause | None
    failed_metrics: tuple[str, ...]
    reason: str


def signature(attempt: PastAttempt) -> FailureSignature:
    """Return an attempt's signature: numbers and identifiers in its reason do not matter."""
    validation = attempt.validation
    return FailureSignature(
        attempt.outcome,
        attempt.cause,
        tuple(sorted(validation.failed_metrics)) if validation is not None else (),
        " ".join(_VARYING.sub("#", attempt.reason).casefold().split()),
    )


def open_tries(
    attempts: Iterable[PastAttempt], *, settled_number: int, fingerprint: str
) -> list[PastAttempt]:
    """Return the attempts since the task last settled, those of runs that were killed included.

    Adopted ones and those made under other settings belong to no try of ours.
    """
    return [
        attempt
        for attempt in attempts
        if attempt.number > settled_number and attempt.fingerprint == fingerprint
    ]


def end_of_tries(
    tries: Sequence[PastAttempt], limits: AttemptLimits, *, time_limited: int
) -> EndOfTries | None:
    """Return why the task is not tried again, or None if it is.

    `tries` are the task's `open_tries`, `time_limited` how many of the task's
    attempts A5 counts. Calls that ran into their time limit follow A5: as long as it may accept
    one at all, they are tried again whatever `retry_on` says, and they do not count as the same
    failure before A5 has as many as it asks for.
    """
    if not tries:
        return None
    if len(tries) >= limits.max_attempts:
        used = "its 1 attempt is" if limits.max_attempts == 1 else f"its {len(tries)} attempts are"
        return EndOfTries(f"{used} used up", early=False)
    last = tries[-1]
    asked_for = limits.max_time_limit_attempts
    follows_a5 = asked_for > 0 and last.outcome is Outcome.TIME_LIMIT_EXCEEDED
    if not follows_a5 and last.cause is not None and last.cause not in limits.retry_on:
        return EndOfTries(
            f"stopped after attempt {last.number}: "
            f"retry_on leaves out failures of the {last.cause} ({last.reason})",
            early=True,
        )
    if follows_a5 and time_limited < asked_for:
        return None
    recent = tries[-SAME_FAILURES_IN_A_ROW:]
    if len(recent) == SAME_FAILURES_IN_A_ROW and len(set(map(signature, recent))) == 1:
        blame = f" of the {last.cause}" if last.cause is not None else ""
        return EndOfTries(
            f"stopped after attempt {last.number}: "
            f"the same failure{blame} {SAME_FAILURES_IN_A_ROW} times in a row ({last.reason})",
            early=True,
        )
    return None
