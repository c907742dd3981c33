"""What judging costs."""

from __future__ import annotations

from pydantic import BaseModel


class JudgeUse(BaseModel):
    """What asking a judge for one score took. Cost is in US dollars, None where no price is known.

    `calls` are the requests that were answered, unusable answers included.
    """

    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
