"""What can be wrong with the composites and pass thresholds that an evaluation declares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
)

_VALIDATION = (GATE, USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY)
_LONGEST_NAME = 64

RESERVED_NAMES = frozenset(
    {
        # The columns of results.csv, of which each composite becomes one.
        *("record_id", "completed", "duration_seconds", "num_turns", "num_tool_calls"),
        *("ended_reason", "error", "key", "status", "acceptance", "attempts", "outcome", "cause"),
        # What else stands beside the composites in metrics_summary.json.
        "pass_k",
    }
)
"""Names that no composite can have."""


class CompositeFault(NamedTuple):
    """One fault; `location` is the field of the evaluation (`composites.good.all.charm`)."""

    location: str
    message: str


def composite_faults(
    composites: Mapping[str, Composite], metrics: Collection[str], known_metrics: Collection[str]
) -> list[CompositeFault]:
    """Return the faults of the composites of an evaluation that has these metrics.

    `known_metrics` are all there are, whether the evaluation has them or not. Metrics of the caller
    are no components: a composite says how the agent did.
    """
    faults = []
    for name, composite in composites.items():
        message = _fault_of_name(name, known_metrics)
        if message is not None:
            faults.append(CompositeFault(f"composites.{name}", message))
        for location, component in _located(name, composite):
            message = _fault_of_reference(component, composites, metrics, known_metrics)
            if message is not None:
                faults.append(CompositeFault(location, message))
        faults += _named_twice(name, composite)
    # One that has a metric's name is a fault already; what names it may well mean the metric.
    of_their_own = {name: each for name, each in composites.items() if name not in known_metrics}
    return [*faults, *_cycles(of_their_own)]


def threshold_faults(
    thresholds: Collection[str],
    composites: Collection[str],
    metrics: Collection[str],
    known_metrics: Collection[str],
) -> list[CompositeFault]:
    """Return a fault for each name in `pass_thresholds` that the evaluation has no score of."""
    found = (
        (name, _fault_of_reference(name, composites, metrics, known_metrics)) for name in thresholds
    )
    return [
        CompositeFault(f"pass_thresholds.{name}", message)
        for name, message in found
        if message is not None
    ]


def _fault_of_name(name: str, known_metrics: Collection[str]) -> str | None:
    if name in _VALIDATION or name in known_metrics:
        return "is the name of a metric; give the composite another one"
    if name in RESERVED_NAMES:
        return "is the name of something else in the summaries; give the composite another one"
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= _LONGEST_NAME:
        return f"must be a name of 1 to {_LONGEST_NAME} characters, without line ends"
    return None


def _located(name: str, composite: Composite) -> Iterator[tuple[str, str]]:
    if composite.all is not None:
        for component in composite.all:
            yield f"composites.{name}.all.{component}", component
    for index, component in enumerate(composite.mean or ()):
        yield f"composites.{name}.mean.{index}", component


def _fault_of_reference(
    name: str,
    composites: Collection[str],
    metrics: Collection[str],
    known_metrics: Collection[str],
) -> str | None:
    if name in composites or name in metrics:
        return None
    if name in _VALIDATION:
        return f"{name!r} says how the caller did, and nothing of the agent; name another score"
    if name in known_metrics:
        return f"{name!r} is not among the evaluation's `metrics`; add it there"
    known = ", ".join([*metrics, *composites]) or "none"
    return f"there is no metric or composite {name!r}; the evaluation's: {known}"


def _named_twice(name: str, composite: Composite) -> Iterator[CompositeFault]:
    named = composite.mean or ()
    for index, component in enumerate(named):
        if component in named[:index]:
            location = f"composites.{name}.mean.{index}"
            yield CompositeFault(location, f"{component!r} is named twice; name it once")


def _cycles(composites: Mapping[str, Composite]) -> Iterator[CompositeFault]:
    graph = {name: set(composite.components) for name, composite in composites.items()}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1]
            # graphlib lists each one before those that are made of it, and the first again last.
            path = " of ".join(map(repr, reversed(cycle)))
            first = next(name for name in composites if name in cycle)
            yield CompositeFault(f"composites.{first}", f"is made of itself: {path}")
            graph = {name: parts for name, parts in graph.items() if name not in cycle}
        else:
            return
