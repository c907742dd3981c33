"""Sends what is logged during a call to that call's `logs.log`.

A context variable says which call is running, so log lines of concurrent calls find their own file
through one handler, whatever module and thread they come from.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

_PACKAGE = "orchestrator_assets"
_current_log: ContextVar[TextIO | None] = ContextVar("current_call_log", default=None)


class _CallLogHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        stream = _current_log.get()
        if stream is None or stream.closed:
            return
        try:
            stream.write(self.format(record) + "\n")
            stream.flush()
        except OSError:
            self.handleError(record)


_handler = _CallLogHandler()
_handler.setFormatter(
    logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z")
)


@contextmanager
def call_log(path: Path) -> Iterator[None]:
    """Append all that this package logs in the block, and in its tasks and threads, to `path`."""
    package_logger = logging.getLogger(_PACKAGE)
    if _handler not in package_logger.handlers:
        package_logger.addHandler(_handler)
        if package_logger.level == logging.NOTSET:
            package_logger.setLevel(logging.INFO)
    with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        token = _current_log.set(stream)
        try:
            yield
        finally:
            _current_log.reset(token)
