"""What judging costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from pydantic import BaseModel


class JudgeUse(BaseModel):
    """What asking a judge for one score, or for several, took.

    `calls` are the requests that were answered, unusable answers included. Endpoints need not say
    how many tokens an answer took: `unmetered_calls` of them did not, and `unpriced_calls` have no
    known cost, for that reason or since no price is known. Tokens and `cost_usd` (US dollars, None
    where no call has a known cost) are those of the others.
    """

    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    unmetered_calls: int = 0
    unpriced_calls: int = 0

    @classmethod
    def total(cls, uses: Iterable[JudgeUse]) -> Self | None:
        """Return the sum, None of nothing. The names of several models are joined by commas."""
        each = list(uses)
        if not each:
            return None
        costs = [use.cost_usd for use in each if use.cost_usd is not None]
        models = dict.fromkeys(name for use in each for name in use.model.split(", "))
        return cls(
            model=", ".join(models),
            calls=sum(use.calls for use in each),
            input_tokens=sum(use.input_tokens for use in each),
            output_tokens=sum(use.output_tokens for use in each),
            cost_usd=sum(costs) if costs else None,
            unmetered_calls=sum(use.unmetered_calls for use in each),
            unpriced_calls=sum(use.unpriced_calls for use in each),
        )
