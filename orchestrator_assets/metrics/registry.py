"""The metrics an evaluation may name: those of this package, and those of others.

A metric is an entry point in the group `orchestrator_assets.metrics`: its name is the metric's, its
object a class that is made without arguments. Another package offers one in its pyproject.toml:

    [project.entry-points."orchestrator_assets.metrics"]
    politeness = "their_package.politeness:Politeness"

Nothing is imported before an evaluation names it, so a package that is broken breaks nobody else's
evaluation.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.metrics.base import JudgedMetric, Metric, Need
from orchestrator_assets.validation.result import (
    GATE,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
)

GROUP = "orchestrator_assets.metrics"
DISTRIBUTION = "orchestrator-assets"

BUILT_IN: dict[str, str] = {
    "task_completion": "orchestrator_assets.metrics.task_completion:TaskCompletion",
    "tool_call_validity": "orchestrator_assets.metrics.tool_call_validity:ToolCallValidity",
    "conversation_completed_on_time": (
        "orchestrator_assets.metrics.conversation_completed_on_time:ConversationCompletedOnTime"
    ),
    "turns": "orchestrator_assets.metrics.turns:Turns",
    "agent_transcript_wer": "orchestrator_assets.metrics.agent_transcript_wer:AgentTranscriptWer",
    "response_latency": "orchestrator_assets.metrics.response_latency:ResponseLatency",
    "turn_taking": "orchestrator_assets.metrics.turn_taking:TurnTaking",
    "agent_interruptions": "orchestrator_assets.metrics.agent_interruptions:AgentInterruptions",
    "caller_interruptions": "orchestrator_assets.metrics.caller_interruptions:CallerInterruptions",
    "yielding": "orchestrator_assets.metrics.yielding:Yielding",
    "talk_over": "orchestrator_assets.metrics.talk_over:TalkOver",
    "dead_air": "orchestrator_assets.metrics.dead_air:DeadAir",
    "talk_ratio": "orchestrator_assets.metrics.talk_ratio:TalkRatio",
    "words_per_minute": "orchestrator_assets.metrics.words_per_minute:WordsPerMinute",
    "faithfulness": "orchestrator_assets.metrics.faithfulness:Faithfulness",
    "conversation_progression": (
        "orchestrator_assets.metrics.conversation_progression:ConversationProgression"
    ),
    "conciseness": "orchestrator_assets.metrics.conciseness:Conciseness",
}
"""This package's own metrics, as in its pyproject.toml: name -> `module:Class`.

They are here too, so that a checkout whose metadata is older, or that is not installed, has them.
"""

AnyMetric: TypeAlias = Metric | JudgedMetric

_RESERVED = {GATE, USER_BEHAVIORAL_FIDELITY, USER_SPEECH_FIDELITY}
_WITHOUT_JUDGE = (
    "{!r} asks a language model; say which by `judge` (`judge: {{}}` takes it from the "
    "environment), or leave the metric out"
)
_MEMBERS = ("name", "code_version", "needs", "pass_threshold")


@dataclass(frozen=True, slots=True)
class Offer:
    """A metric by its name, and who offers it under that name; nothing of it is imported."""

    name: str
    entry_points: tuple[EntryPoint, ...]

    @property
    def distributions(self) -> tuple[str, ...]:
        """The names of the packages that offer it."""
        return tuple(map(_distribution_of, self.entry_points))

    def create(self) -> AnyMetric:
        """Import the metric and return it.

        Raises ConfigurationError, naming package and entry point, if it can't be used.
        """
        if len(self.entry_points) > 1:
            raise _fault(
                self.name,
                f"{' and '.join(map(_described, self.entry_points))} offer a metric of this name; "
                "uninstall all but one",
            )
        (entry_point,) = self.entry_points
        if self.name in _RESERVED and _distribution_of(entry_point) != DISTRIBUTION:
            raise _fault(
                self.name, f"{_described(entry_point)} takes the name of a validation metric"
            )
        return _loaded(entry_point)


def offers() -> dict[str, Offer]:
    """Return the metrics there are, by name, sorted; see `Offer`."""
    found: dict[str, list[EntryPoint]] = {
        name: [EntryPoint(name, value, GROUP)] for name, value in BUILT_IN.items()
    }
    for entry_point in _of_other_packages(tuple(sys.path)):
        found.setdefault(entry_point.name, []).append(entry_point)
    return {name: Offer(name, tuple(each)) for name, each in sorted(found.items())}


@cache
def _of_other_packages(_search_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of other packages; looking through them all takes milliseconds."""
    # The metadata of this package says again what the table says.
    return tuple(
        entry_point
        for entry_point in entry_points(group=GROUP)
        if _distribution_of(entry_point) != DISTRIBUTION
    )


def metric_names() -> list[str]:
    """Return the names of all metrics, sorted, whether they can be used or not."""
    return list(offers())


def create_metrics(names: Iterable[str]) -> list[AnyMetric]:
    """Return the named metrics, in that order.

    Raises ConfigurationError that lists every name there is no metric of, or none that can be used.
    """
    available = offers()
    metrics: list[AnyMetric] = []
    faults: list[Fault] = []
    for name in names:
        try:
            metrics.append(_create(name, available))
        except ConfigurationError as error:
            faults.extend(error.faults)
    if faults:
        raise ConfigurationError(faults)
    return metrics


def code_versions(metrics: Iterable[AnyMetric]) -> dict[str, str]:
    """Return the code versions of metrics, by name. Judged ones work them out from a prompt."""
    return {metric.name: metric.code_version for metric in metrics}


def faults_of(names: Sequence[str], *, has_judge: bool) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with an evaluation's metrics, by their position from 0.

    `has_judge`: it has a language model for judged metrics to ask.
    """
    available = offers()
    for index, name in enumerate(names):
        if name in names[:index]:
            yield index, f"{name!r} stands there twice; leave one out"
            continue
        try:
            metric = _create(name, available)
        except ConfigurationError as error:
            yield from ((index, fault.message) for fault in error.faults)
            continue
        if is_judged(metric) and not has_judge:
            yield index, _WITHOUT_JUDGE.format(name)


def _create(name: str, available: Mapping[str, Offer]) -> AnyMetric:
    if name not in available:
        known = ", ".join(available)
        raise ConfigurationError([Fault(None, "", f"there is no metric {name!r}; known: {known}")])
    return available[name].create()


def is_judged(metric: AnyMetric) -> bool:
    """Tell whether a metric asks a language model."""
    return isinstance(metric, JudgedMetric)


def _loaded(entry_point: EntryPoint) -> AnyMetric:
    try:
        made = entry_point.load()
    except Exception as error:
        raise _unusable(entry_point, f"can't be imported: {_shown(error)}") from error
    try:
        metric = made() if callable(made) else made
        # What it says of itself may be worked out, from a prompt for example.
        fault = _fault_of(metric, entry_point.name)
    except Exception as error:
        raise _unusable(entry_point, f"can't be made: {_shown(error)}") from error
    if fault is not None:
        raise _unusable(entry_point, fault)
    return metric  # type: ignore[no-any-return]


def _fault_of(metric: object, name: str) -> str | None:
    """Return in which way an object is no metric of this name; None if it is one."""
    missing = [member for member in _MEMBERS if not hasattr(metric, member)]
    if missing:
        return f"is no metric: it has no {', '.join(f'`{member}`' for member in missing)}"
    computes, judges = (callable(getattr(metric, each, None)) for each in ("compute", "judge"))
    if computes == judges:
        both = "has both" if computes else "has none of"
        return f"must have either `compute` or `judge`, but {both}"
    described: Metric | JudgedMetric = metric  # type: ignore[assignment]
    if described.name != name:
        return f"calls itself {described.name!r}; its `name` must be that of the entry point"
    if not isinstance(described.code_version, str) or not described.code_version:
        return f"has the `code_version` {described.code_version!r}; it must be some text"
    if not _are_needs(described.needs):
        return f"has the `needs` {described.needs!r}; they must be a frozenset of Need"
    threshold = described.pass_threshold
    if threshold is not None and not _is_share(threshold):
        return f"has the `pass_threshold` {threshold!r}; it must be from 0 to 1, or None"
    if judges != inspect.iscoroutinefunction(getattr(metric, "judge" if judges else "compute")):
        return "must have `judge` as `async def`" if judges else "must have `compute` as a `def`"
    return None


def _are_needs(value: object) -> bool:
    return isinstance(value, frozenset) and all(isinstance(each, Need) for each in value)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _distribution_of(entry_point: EntryPoint) -> str:
    # Those of the table have none.
    name = entry_point.dist.name if entry_point.dist is not None else DISTRIBUTION
    return name.replace("_", "-")


def _described(entry_point: EntryPoint) -> str:
    return f"{_distribution_of(entry_point)} ({entry_point.value})"


def _unusable(entry_point: EntryPoint, message: str) -> ConfigurationError:
    return _fault(entry_point.name, f"{_described(entry_point)} {message}")


def _fault(name: str, message: str) -> ConfigurationError:
    return ConfigurationError(
        [Fault(None, "", f"metric {name!r} (entry point in {GROUP}): {message}")]
    )


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
