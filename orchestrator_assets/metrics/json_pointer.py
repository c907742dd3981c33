"""JSON Pointers (RFC 6901) into the state of the agent's world.

`/orders/A~11/items/0` is the first of `items` in the member `A/1` of `orders`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

Path = tuple[str, ...]


class _Absent(Enum):
    ABSENT = "absent"


ABSENT: Final = _Absent.ABSENT
"""What stands at a pointer that leads nowhere; `null` is a value."""


def pointer_of(path: Iterable[str]) -> str:
    """Return the pointer with these parts."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def path_of(pointer: str) -> Path:
    """Return the parts of a pointer, which starts with a slash."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def value_at(value: Any, path: Path) -> Any:
    """Return what stands at `path` in a JSON value, or ABSENT."""
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part, ABSENT)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def with_changes(initial: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `initial` after `changes`, keyed by JSON Pointer; `null` removes.

    Objects on the way to a new value are made where they are missing; in a list, the index just
    behind the end (or `-`) appends. Indices are those before any removal. Raises ValueError for a
    pointer that can't be followed.
    """
    state: dict[str, Any] = copy.deepcopy(dict(initial))
    pointers = sorted(changes, key=_position)
    for pointer in pointers:
        if changes[pointer] is not None:
            _set(state, pointer, copy.deepcopy(changes[pointer]))
    # From the back, so that the indices in front keep their meaning.
    for pointer in reversed(pointers):
        if changes[pointer] is None:
            _remove(state, pointer)
    return state


def _position(pointer: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part) if part.isdecimal() else -1, part) for part in path_of(pointer))


def _set(state: dict[str, Any], pointer: str, value: Any) -> None:
    *way, last = path_of(pointer)
    parent: Any = state
    for part in way:
        if isinstance(parent, dict) and parent.get(part) is None:
            parent[part] = {}
        parent = value_at(parent, (part,))
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list) and last in ("-", str(len(parent))):
        parent.append(value)
    elif isinstance(parent, list) and last.isdecimal() and int(last) < len(parent):
        parent[int(last)] = value
    else:
        raise ValueError(f"{pointer!r} leads nowhere in the initial state")


def _remove(state: dict[str, Any], pointer: str) -> None:
    path = path_of(pointer)
    parent = value_at(state, path[:-1])
    if value_at(parent, path[-1:]) is ABSENT:
        raise ValueError(f"{pointer!r} is to be removed, but is not in the initial state")
    if isinstance(parent, list):
        del parent[int(path[-1])]
    else:
        del parent[path[-1]]
