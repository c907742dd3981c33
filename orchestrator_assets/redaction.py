"""Keeps secrets out of what is written: they are known by the names they are given under."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

REDACTED = "***"

_SECRET_NAME = re.compile(
    r"(?:^|[_\-.])(?:auth|authorization|bearer|credentials?|key|passw(?:or)?d|secret|token)s?$",
    re.IGNORECASE,
)
_SECRET_OPTION = re.compile(r"^(?P<option>--?(?P<name>[A-Za-z0-9_\-.]+))=.*$", re.DOTALL)


def redacted_value(name: str, value: str) -> str:
    """Return the value of a setting, or `***` if its name says that it is a secret."""
    return REDACTED if _SECRET_NAME.search(name) else value


def redacted_fields(value: Any) -> Any:
    """Return JSON without the texts in it, however deep, whose name says that they are secrets."""
    if isinstance(value, dict):
        return {
            name: redacted_value(name, item) if isinstance(item, str) else redacted_fields(item)
            for name, item in value.items()
        }
    return [redacted_fields(item) for item in value] if isinstance(value, list) else value


def redacted_url(url: str) -> str:
    """Return a URL without its user part and without query parameters that are secrets."""
    parts = urlsplit(url)
    netloc = parts.netloc
    if "@" in netloc:
        netloc = f"{REDACTED}@{netloc.rpartition('@')[2]}"
    query = parts.query
    pairs = parse_qsl(query, keep_blank_values=True)
    if any(_SECRET_NAME.search(name) for name, _ in pairs):
        safe = [(name, redacted_value(name, value)) for name, value in pairs]
        query = urlencode(safe, safe="*{}")
    return urlunsplit(parts._replace(netloc=netloc, query=query))


def redacted_command(command: list[str]) -> list[str]:
    """Return a command without the values of options that are secrets."""
    redacted: list[str] = []
    for word in command:
        previous = redacted[-1] if redacted else ""
        option = _SECRET_OPTION.match(word)
        if option is not None and _SECRET_NAME.search(option["name"]):
            redacted.append(f"{option['option']}={REDACTED}")
        elif previous.startswith("-") and _SECRET_NAME.search(previous):
            redacted.append(REDACTED)
        else:
            redacted.append(word)
    return redacted
