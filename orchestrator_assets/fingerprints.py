"""Fingerprints of the conditions of a call, by part: two of them tell what has changed.

A fingerprint is one string, `agent=5b0e…&record.turns=91c2…`: for each part, in order of their
names, the head of the SHA-256 of its canonical JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

_DIGITS = 16
"""Of the hash, in hex: 64 bits, so that no change goes unnoticed by chance."""


def fingerprint_of(parts: Mapping[str, Any]) -> str:
    """Return the fingerprint of JSON values, whatever their order."""
    return urlencode([(name, _hash(parts[name])) for name in sorted(parts)])


def changed_parts(before: str, now: str) -> tuple[str, ...]:
    """Return the names of the parts in which two fingerprints differ, sorted.

    None of them where `before` is no fingerprint of this kind: then there is no telling.
    """
    old, new = dict(parse_qsl(before)), dict(parse_qsl(now))
    if not old:
        return ()
    return tuple(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))


def _hash(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate, which JSON may hold, has no UTF-8.
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
