from __future__ import annotations

import pytest

from orchestrator_assets.metrics.json_pointer import (
    ABSENT,
    path_of,
    pointer_of,
    value_at,
    with_changes,
)

# The document and its pointers are those of RFC 6901, section 5.
RFC_DOCUMENT = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, " ": 7, "m~n": 8, "~1": 9}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/ ", 7),
        ("/m~0n", 8),
        ("/~01", 9),
    ],
)
def test_pointers_lead_where_the_standard_says(pointer: str, value: object) -> None:
    assert value_at(RFC_DOCUMENT, path_of(pointer)) == value
    assert pointer_of(path_of(pointer)) == pointer


@pytest.mark.parametrize("pointer", ["/bar", "/foo/2", "/foo/-", "/foo/x", "/a~1b/c"])
def test_a_pointer_that_leads_nowhere_finds_nothing(pointer: str) -> None:
    assert value_at(RFC_DOCUMENT, path_of(pointer)) is ABSENT


def test_changes_set_make_append_and_remove() -> None:
    initial = {"orders": {"A/1": {"qty": 2}}, "notes": ["a", "b", "c"]}
    changes = {
        "/orders/A~11/qty": 3,
        "/orders/B/lines": [1],
        "/notes/0": None,
        "/notes/1": None,
        "/notes/3": "d",
    }
    assert with_changes(initial, changes) == {
        "orders": {"A/1": {"qty": 3}, "B": {"lines": [1]}},
        "notes": ["c", "d"],
    }
    assert initial == {"orders": {"A/1": {"qty": 2}}, "notes": ["a", "b", "c"]}


@pytest.mark.parametrize(
    "changes", [{"/notes/9": "x"}, {"/count/x": 1}, {"/gone": None}, {"/notes/9": None}]
)
def test_a_change_that_cannot_be_made_is_named(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        with_changes({"notes": ["a"], "count": 1}, changes)
