"""Markdown that shows any text as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# What Markdown or the HTML inside it would take for markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~$#&!])")


def escape(text: str) -> str:
    """Return `text` as Markdown that renders to just that text, on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; cells are plain text."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(escape(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
