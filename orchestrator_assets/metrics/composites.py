"""Composites: scores made of other scores, declared in the evaluation.

They are never stored beside the scores they are made of, but computed whenever they are shown, so
that they always follow what the evaluation declares now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from orchestrator_assets.metrics.base import MetricScore

TOLERANCE = 1e-9
"""How far a score may lie below its threshold and still reach it (EVA's): sums of thirds do."""


class Composite(BaseModel):
    """One of two shapes.

    `all`: 1.0 if every named score reaches its threshold, else 0.0 (EVA's `*_pass`); `mean`: the
    mean of the named scores (EVA's `*_mean`). Scores are normalised; names are those of metrics or
    of other composites.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    all: dict[str, Annotated[float, Field(ge=0, le=1)]] | None = Field(default=None, min_length=1)
    mean: tuple[str, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        if (self.all is None) == (self.mean is None):
            raise ValueError("give either `all` or `mean`")
        return self

    @property
    def components(self) -> tuple[str, ...]:
        """The names it is made of."""
        return tuple(self.all) if self.all is not None else self.mean or ()


class Composites:
    """The composites of an evaluation, in an order in which each comes after what it is made of."""

    def __init__(self, declared: Mapping[str, Composite]) -> None:
        """Raises graphlib.CycleError for one that is made of itself: see `composite_faults`."""
        graph = {name: composite.components for name, composite in declared.items()}
        order = TopologicalSorter(graph).static_order()
        self._declared = dict(declared)
        self._order = [name for name in order if name in declared]

    def scores(
        self, scores: Mapping[str, MetricScore], *, evidence: bool = True
    ) -> dict[str, MetricScore]:
        """Return the composites of one conversation's scores, in the order they were declared.

        One that has a component without a score has none: it is errored if the component is, and
        else neither errored nor skipped, just as a metric that was never computed. Skipped
        components are left out; it is skipped if all are. Without `evidence`, details are empty.
        """
        known = dict(scores)
        for name in self._order:
            known[name] = _score(name, self._declared[name], known, evidence=evidence)
        return {name: known[name] for name in self._declared}


def reaches(value: float, threshold: float) -> bool:
    """Tell whether a normalised score is at least its threshold, within the tolerance."""
    return value >= threshold - TOLERANCE


def _score(
    name: str, composite: Composite, scores: Mapping[str, MetricScore], *, evidence: bool
) -> MetricScore:
    components = {each: scores.get(each) for each in composite.components}
    errors = [
        f"{each}: {score.error}"
        for each, score in components.items()
        if score is not None and score.error is not None
    ]
    if errors:
        return MetricScore(name=name, error="; ".join(errors))
    values = {
        each: score.normalized_score if score is not None else None
        for each, score in components.items()
        if score is None or not score.skipped
    }
    lacking = [each for each, value in values.items() if value is None]
    if lacking:
        reason = f"no score between 0 and 1: {', '.join(lacking)}"
        return MetricScore(name=name, details={"reason": reason} if evidence else {})
    present = {each: value for each, value in values.items() if value is not None}
    details = _evidence(composite, present) if evidence else {}
    if not present:
        return MetricScore(name=name, skipped=True, details=details)
    value = _value(composite, present)
    return MetricScore(name=name, score=value, normalized_score=value, details=details)


def _value(composite: Composite, values: Mapping[str, float]) -> float:
    if composite.all is None:
        return sum(values.values()) / len(values)
    return float(not _below(composite.all, values))


def _evidence(composite: Composite, values: Mapping[str, float]) -> dict[str, Any]:
    left_out = [name for name in composite.components if name not in values]
    if not values:
        return {"reason": f"all of it was skipped: {', '.join(left_out)}"}
    details: dict[str, Any] = {"components": dict(values)}
    if left_out:
        details["skipped"] = left_out
    if composite.all is not None:
        below = _below(composite.all, values)
        shown = (f"{name} {values[name]:.3g} is below {composite.all[name]:.3g}" for name in below)
        details["reason"] = "; ".join(shown) or "every component reaches its threshold"
    return details


def _below(thresholds: Mapping[str, float], values: Mapping[str, float]) -> Sequence[str]:
    return [name for name, value in values.items() if not reaches(value, thresholds[name])]
