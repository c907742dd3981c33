"""Fingerprints that tell what has changed."""

from __future__ import annotations

from orchestrator_assets.fingerprints import changed_parts, fingerprint_of


def test_equal_parts_have_equal_fingerprints_whatever_their_order() -> None:
    one = fingerprint_of({"agent": {"url": "a", "port": 1}, "record.turns": ["x"]})
    other = fingerprint_of({"record.turns": ["x"], "agent": {"port": 1, "url": "a"}})

    assert one == other
    assert changed_parts(one, other) == ()


def test_parts_that_changed_came_or_went_are_named() -> None:
    before = fingerprint_of({"agent": 1, "clock": "wall", "record.a&b=c é": 1})
    now = fingerprint_of({"agent": 2, "clock": "wall", "record.turns": []})

    assert changed_parts(before, now) == ("agent", "record.a&b=c é", "record.turns")


def test_what_is_no_fingerprint_of_this_kind_names_nothing() -> None:
    assert changed_parts("9f86d081884c7d65", fingerprint_of({"agent": 1})) == ()
    assert changed_parts("", fingerprint_of({"agent": 1})) == ()


def test_a_lone_surrogate_is_hashed_like_any_text() -> None:
    assert fingerprint_of({"a": "\ud800"}) != fingerprint_of({"a": "\ud801"})
