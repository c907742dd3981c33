"""Holding the garbage collector off while very many objects are made that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collecting() -> Iterator[None]:
    """Keep Python from looking through all objects for cyclic garbage again and again.

    With 10,000 tasks that takes longer than reading them. It holds for the whole process, so it is
    for a few seconds only; what is collected late is collected afterwards.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
