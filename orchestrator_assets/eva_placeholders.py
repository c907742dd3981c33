"""Fills in the names and numbers that EVA's records leave open, a set for each language.

`<FIRST_NAME>` and its like stand for what the record has under `culture_overrides`, their
`_ROMANIZED` forms, in lower case, for what it has under `romanized_culture_overrides`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LANGUAGE = "en"
"""EVA's default. An evaluation has no language of its own."""

_OVERRIDES = "culture_overrides"
_ROMANIZED_OVERRIDES = "romanized_culture_overrides"


def fill_in(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with its placeholders filled in; one without a value stays as it is."""
    values = _values(row)
    kept = {_OVERRIDES, _ROMANIZED_OVERRIDES}
    return {
        field: value if field in kept else _filled_in(value, values) for field, value in row.items()
    }


def _values(row: Mapping[str, Any]) -> dict[str, str]:
    own = _of_language(row.get(_OVERRIDES))
    # Languages in Latin script need no romanised names.
    romanized = {**own, **_of_language(row.get(_ROMANIZED_OVERRIDES))}
    names = {
        "<FIRST_NAME>": own.get("first_name"),
        "<LAST_NAME>": own.get("last_name"),
        "<PHONE>": own.get("phone"),
        "<COMPANION_FIRST_NAME>": _companion(own),
        "<FIRST_NAME_ROMANIZED>": _lower(romanized.get("first_name")),
        "<LAST_NAME_ROMANIZED>": _lower(romanized.get("last_name")),
        "<COMPANION_FIRST_NAME_ROMANIZED>": _lower(_companion(romanized)),
    }
    return {placeholder: name for placeholder, name in names.items() if isinstance(name, str)}


def _of_language(overrides: Any) -> Mapping[str, Any]:
    entry = overrides.get(LANGUAGE) if isinstance(overrides, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


def _companion(entry: Mapping[str, Any]) -> Any:
    companion = entry.get("companion")
    return companion.get("first_name") if isinstance(companion, Mapping) else None


def _lower(name: Any) -> Any:
    return name.lower() if isinstance(name, str) else None


def _filled_in(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for placeholder, name in values.items():
            value = value.replace(placeholder, name)
        return value
    if isinstance(value, Mapping):
        return {key: _filled_in(member, values) for key, member in value.items()}
    if isinstance(value, list):
        return [_filled_in(member, values) for member in value]
    return value
