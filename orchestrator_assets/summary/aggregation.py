"""What of an evaluation shapes its summaries, beside the run directory and the tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.metrics.composites import Composite, Composites
from orchestrator_assets.metrics.registry import offers

_MEAN_PASSES_FROM = 0.5
_ALL_PASSES_FROM = 1.0

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Aggregation:
    """The metrics and composites of an evaluation, and from which score on a trial has passed.

    `metrics` are in the evaluation's order. `pass_thresholds` are of normalised scores; what has
    none is left out of pass@k.
    """

    metrics: tuple[str, ...] = ()
    composites: Mapping[str, Composite] = field(default_factory=dict)
    pass_thresholds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, evaluation: Evaluation) -> Aggregation:
        """Return what an evaluation declares; only the metrics it names are imported.

        One that can't be imported is logged, and has no threshold unless the evaluation gives one:
        a broken metric must not cost the summary of all others.
        """
        composites = {
            name: _ALL_PASSES_FROM if composite.all is not None else _MEAN_PASSES_FROM
            for name, composite in evaluation.composites.items()
        }
        return cls(
            metrics=evaluation.metrics,
            composites=evaluation.composites,
            pass_thresholds={
                **_own_thresholds(evaluation.metrics),
                **composites,
                **evaluation.pass_thresholds,
            },
        )

    @cached_property
    def computed_composites(self) -> Composites:
        """The composites, ready to be computed."""
        return Composites(self.composites)


def _own_thresholds(names: Sequence[str]) -> dict[str, float]:
    thresholds, available = {}, offers()
    for name in names:
        if name not in available:
            continue
        try:
            metric = available[name].create()
        except ConfigurationError as error:
            _logger.warning("no pass threshold of %s is known: %s", name, error)
            continue
        if metric.pass_threshold is not None:
            thresholds[name] = float(metric.pass_threshold)
    return thresholds
