"""The consoles of the command line."""

from __future__ import annotations

from rich.console import Console

PLAIN_WIDTH = 120
"""Columns where the output is no terminal."""


def make_console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, else PLAIN_WIDTH."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=PLAIN_WIDTH)
