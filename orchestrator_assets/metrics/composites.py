"""Composites: scores made of other scores, declared in the evaluation."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Composite(BaseModel):
    """One of two shapes.

    `all`: 1.0 if every named score reaches its threshold, else 0.0 (EVA's `*_pass`); `mean`: the
    mean of the named scores (EVA's `*_mean`). Scores are normalised; names are those of metrics or
    of other composites.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    all: dict[str, float] | None = Field(default=None, min_length=1)
    mean: tuple[str, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        if (self.all is None) == (self.mean is None):
            raise ValueError("give either `all` or `mean`")
        return self
