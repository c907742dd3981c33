"""Compares states of the agent's world: where is the final state not what it should be?"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator_assets.metrics.json_pointer import ABSENT, Path, pointer_of, value_at

DifferenceKind = Literal["missing", "unexpected", "different"]

# Lists whose order means nothing, in EVA's scenario databases.
_UNORDERED_LISTS = {
    "standby_list",
    "notifications",
    "bookings",
    "system_accounts",
    "group_memberships",
    "asset_recoveries",
}
_NULL_WORDS = {"none", "null"}
_SESSION = "session"


@dataclass(frozen=True, slots=True)
class StateDifference:
    """A value that is not what it should be.

    `missing`: the expected change was not made; `unexpected`: a value was changed that should have
    stayed; `different`: the value was changed, but to another one than expected.
    """

    kind: DifferenceKind
    pointer: str
    expected: Any
    actual: Any

    def as_details(self) -> dict[str, Any]:
        """Return it as JSON, without the side where there is no value."""
        sides = {"expected": self.expected, "actual": self.actual}
        present = {side: value for side, value in sides.items() if value is not ABSENT}
        return {"pointer": self.pointer, **present}


def wrong_changes(
    expected: Mapping[str, Any], final: Mapping[str, Any], initial: Mapping[str, Any]
) -> list[StateDifference]:
    """Return how `final` differs from `expected`, both being changes of `initial`.

    A member that is `null` counts as one that is not there.
    """
    return list(
        _classified(_without_nulls(expected), _without_nulls(final), _without_nulls(initial))
    )


def wrong_state(
    expected: Mapping[str, Any], final: Mapping[str, Any], initial: Mapping[str, Any] | None
) -> list[StateDifference]:
    """Return how `final` differs from `expected` by the rules of EVA's task completion.

    Whole floats equal integers, the words "none" and "null" equal `null`, some lists have no order,
    and `session` may hold more than expected; text in it is compared without regard to case.
    `initial` only serves to tell a change that is missing from one that is wrong.
    """
    wanted, held = _normalized(expected), _normalized(final)
    before = ABSENT if initial is None else _normalized(initial)
    wanted_session, held_session = wanted.pop(_SESSION, {}), held.pop(_SESSION, {})
    session = _wrong_session(wanted_session, held_session)
    return [*_classified(wanted, held, before), *session]


def _wrong_session(expected: Any, final: Any) -> Iterator[StateDifference]:
    for key, value in expected.items() if isinstance(expected, dict) else ():
        actual = value_at(final, (key,))
        if not _same(_folded(value), _folded(actual)):
            kind: DifferenceKind = "missing" if actual is ABSENT else "different"
            yield StateDifference(kind, pointer_of((_SESSION, key)), value, actual)


def _classified(expected: Any, final: Any, initial: Any) -> Iterator[StateDifference]:
    for path, wanted, actual in _differences(expected, final):
        before = value_at(initial, path)
        kind: DifferenceKind = "different"
        if _same(actual, before):
            kind = "missing"
        elif _same(wanted, before):
            kind = "unexpected"
        yield StateDifference(kind, pointer_of(path), wanted, actual)


def _differences(expected: Any, actual: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            wanted, held = expected.get(key, ABSENT), actual.get(key, ABSENT)
            yield from _differences(wanted, held, (*path, key))
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (wanted, held) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(wanted, held, (*path, str(index)))
    elif not _same(expected, actual):
        yield path, expected, actual


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    # In Python, True == 1; in JSON they are two things.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _normalized(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _normalized(member, name) for name, member in value.items()}
    if isinstance(value, list):
        members = [_normalized(member) for member in value]
        if key in _UNORDERED_LISTS:
            members.sort(key=lambda member: json.dumps(member, sort_keys=True))
        return members
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().lower() in _NULL_WORDS:
        return None
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(held) for key, held in value.items() if held is not None}
    if isinstance(value, list):
        return [_without_nulls(member) for member in value]
    return value


def _folded(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value
