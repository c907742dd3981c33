"""`orchestrator-assets metrics --list`: the metrics that an evaluation may name."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from orchestrator_assets.command_line.console import make_console
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.metrics.registry import DISTRIBUTION, Offer, is_judged, offers


def list_metrics() -> int:
    """Print every metric, built in or of another package, and return 0."""
    console = make_console()
    table = Table(box=None, pad_edge=False) if console.is_terminal else Table(box=box.ASCII2)
    for heading in ("metric", "kind", "needs", "version", "passes from", "of"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "metric")
    broken = []
    for offer in offers().values():
        try:
            table.add_row(*map(escape, _row(offer)))
        except ConfigurationError as error:
            broken += [fault.message for fault in error.faults]
    console.print(table)
    for message in broken:
        console.print(message, markup=False, highlight=False, soft_wrap=True)
    return 0


def _row(offer: Offer) -> tuple[str, ...]:
    metric = offer.create()
    threshold = metric.pass_threshold
    return (
        metric.name,
        "judged" if is_judged(metric) else "deterministic",
        ", ".join(sorted(need.value for need in metric.needs)),
        metric.code_version,
        "" if threshold is None else f"{threshold:g}",
        ", ".join("built in" if each == DISTRIBUTION else each for each in offer.distributions),
    )
