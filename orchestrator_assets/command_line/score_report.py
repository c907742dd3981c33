"""What the command line says when scores were computed: a line a metric, and what went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.metrics.base import MetricScore

_SHOWN_ERRORS = 20


@dataclass(slots=True)
class _Row:
    """What became of one metric."""

    scores: list[float] = field(default_factory=list)
    skipped: int = 0
    kept: int = 0
    errored: int = 0

    def add(self, score: MetricScore | None) -> None:
        if score is None or score.error is not None:
            self.errored += 1
        elif score.latest_error is not None:
            self.kept += 1
        elif score.skipped or score.score is None:
            self.skipped += 1
        else:
            self.scores.append(score.score)


def print_scores(
    console: Console,
    order: Sequence[str],
    computed: Mapping[str, Collection[str]],
    settled: Sequence[TaskOutcome],
) -> bool:
    """Print how many scores were computed of each metric, in `order`, and their mean.

    `computed` are the metrics that were asked for, by task key. Returns whether each of them has a
    score, or was skipped, and none could not be computed again.
    """
    found = {outcome.task.key: outcome.metrics or {} for outcome in settled}
    names = {name for each in computed.values() for name in each}
    rows = {name: _Row() for name in order if name in names}
    for key, metrics in found.items():
        for name in computed.get(key, ()):
            rows[name].add(metrics.get(name))
    console.print(_table(console, rows))
    errors = list(_errors(computed, settled))
    for line in errors[:_SHOWN_ERRORS]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if len(errors) > _SHOWN_ERRORS:
        console.print(f"… and {len(errors) - _SHOWN_ERRORS:,} more", highlight=False)
    all_there = not any(row.errored or row.kept for row in rows.values())
    return all_there and computed.keys() <= found.keys()


def _table(console: Console, rows: Mapping[str, _Row]) -> Table:
    table = Table(box=None, pad_edge=False) if console.is_terminal else Table(box=box.ASCII2)
    table.add_column("metric", overflow="fold")
    for heading in ("scored", "skipped", "errored", "kept", "mean"):
        table.add_column(heading, justify="right")
    for name, row in rows.items():
        mean = f"{sum(row.scores) / len(row.scores):.3g}" if row.scores else ""
        errored = f"[red]{row.errored}[/]" if row.errored else "0"
        table.add_row(name, str(len(row.scores)), str(row.skipped), errored, str(row.kept), mean)
    return table


def _errors(
    computed: Mapping[str, Collection[str]], settled: Sequence[TaskOutcome]
) -> Iterator[str]:
    for outcome in settled:
        if outcome.error is not None:
            yield f"{outcome.task.id}: {outcome.error}"
        for name in computed.get(outcome.task.key, ()):
            score = (outcome.metrics or {}).get(name)
            if score is not None and score.error is not None:
                yield f"{outcome.task.id}: {name}: {score.error}"
            elif score is not None and score.latest_error is not None:
                yield f"{outcome.task.id}: {name}: kept its earlier score: {score.latest_error}"
