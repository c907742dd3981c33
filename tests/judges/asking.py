"""What the tests of judges ask, and a clock that only moves when somebody waits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from orchestrator_assets.errors import JudgeError
from orchestrator_assets.judges.judge import Judge, Judgement
from orchestrator_assets.judges.ledger import JudgeCall, read_judge_calls
from orchestrator_assets.judges.prompt import Prompt

PROMPT = Prompt("rate_it", "3", "Rate what was said: $transcript")


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rating: Literal[1, 2, 3]
    reason: str
    share: float = Field(default=1.0, ge=0, le=1)


class Asking:
    """A judge, and the directory of the conversation it is asked about."""

    def __init__(self, judge: Judge, directory: Path) -> None:
        self.judge = judge
        self.directory = directory

    async def ask(self, transcript: str = "Hello.", **arguments: Any) -> Judgement[Verdict]:
        return await self.judge.ask(
            PROMPT,
            {"transcript": transcript},
            Verdict,
            **{"metric": "politeness", "directory": self.directory, **arguments},
        )

    async def error(self) -> JudgeError:
        with pytest.raises(JudgeError) as caught:
            await self.ask()
        return caught.value

    def ledger(self) -> list[JudgeCall]:
        return read_judge_calls(self.directory)

    def outcomes(self) -> list[str]:
        return [call.outcome.value for call in self.ledger()]


class Sleeps(list[float]):
    """Notes how long was waited, and lets the time pass; `until` keeps all asleep."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.until: asyncio.Event | None = None

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        if self.until is not None:
            await self.until.wait()
        self.now += seconds

    def clock(self) -> float:
        return self.now
