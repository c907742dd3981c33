"""Interrupts that end a stream of outcomes instead of landing wherever the main thread is.

Dagster raises an exception out of the signal handler. Where that hits a destructor or a weak
reference's callback, of which writing an event runs many, Python prints it and goes on, and the
interrupt is lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from orchestrator_assets.evaluation_run import OutcomeStream

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts_end(stream: OutcomeStream) -> Iterator[None]:
    """Let the first SIGINT or SIGTERM end the stream; a second one does what it did before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def end_stream(_number: int, _frame: FrameType | None) -> None:
        restore()
        stream.stop()

    for number in _SIGNALS:
        signal.signal(number, end_stream)
    try:
        yield
    finally:
        restore()
