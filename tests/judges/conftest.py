"""A judge, the server it asks, and the conversation it is asked about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from asking import Asking, Sleeps
from judge_server import JudgeServer

from orchestrator_assets.judges.judge import Judge


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer({"rating": 3, "reason": "all said"}) as server:
        yield server


@pytest.fixture
def sleeps() -> Sleeps:
    return Sleeps()


@pytest.fixture
async def asking(
    server: JudgeServer, sleeps: Sleeps, tmp_path: Path
) -> AsyncIterator[Callable[..., Asking]]:
    """Make a judge of settings, and return how to ask it; its waits take no time."""
    async with AsyncExitStack() as closing:

        def make(environment: dict[str, str] | None = None, **fields: Any) -> Asking:
            judge = Judge(
                server.settings(**fields),
                environment=environment or {},
                sleep=sleeps,
                clock=sleeps.clock,
            )
            closing.push_async_callback(judge.aclose)
            return Asking(judge, tmp_path)

        yield make
