"""The scores of all tasks as arrays: a row a task, a column a metric or composite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from orchestrator_assets.attempts.history import PastAttempt
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.composites import TOLERANCE
from orchestrator_assets.metrics.pass_at_k import Counts, Floats
from orchestrator_assets.summary.score_value import ScoreStanding, score_value, standing_of
from orchestrator_assets.summary.task_state import TaskState, TaskStatus

Facts: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The scores of `names`, a row for each conversation or task.

    `values` are those shown, normalised where there is a normalised one; `normalised` only those
    between 0 and 1; NaN where there is none. `standings` are ScoreStanding; `absent` tells where
    there is not even a score without a number, `not_renewed` where the last try at it failed.
    """

    names: tuple[str, ...]
    values: Floats
    normalised: Floats
    standings: npt.NDArray[np.int8]
    absent: Facts
    not_renewed: Facts

    def with_rows(self, rows: Sequence[int], others: ScoreTable) -> ScoreTable:
        """Return a copy in which `others` stand in these rows."""
        copy = ScoreTable(self.names, *(array.copy() for array in self._arrays))
        for array, other in zip(copy._arrays, others._arrays, strict=True):
            array[rows] = other
        return copy

    @property
    def _arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.values, self.normalised, self.standings, self.absent, self.not_renewed)

    def column(self, name: str) -> int:
        """Return the index of a metric's column."""
        return self.names.index(name)

    def counts(self, name: str) -> dict[ScoreStanding, int]:
        """Return how many rows stand how for a metric; they add up to all rows."""
        counts = np.bincount(self.standings[:, self.column(name)], minlength=len(ScoreStanding))
        return {each: int(counts[each]) for each in ScoreStanding}

    @property
    def has_none(self) -> Facts:
        """Where a metric was computed without error, and yet gave no number."""
        without = (ScoreStanding.SKIPPED, ScoreStanding.MISSING)
        has_none: Facts = np.isin(self.standings, without) & ~self.absent
        return has_none

    def passed(self, thresholds: Mapping[str, float]) -> Facts:
        """Tell which trials have passed; none has where no threshold is given."""
        bounds = np.array([thresholds.get(name, np.inf) for name in self.names])
        # A comparison with NaN is false.
        passed: Facts = self.normalised >= bounds - TOLERANCE
        return passed


class _Cell(NamedTuple):
    """What a table says of one score, in the order of its arrays."""

    value: float
    normalised: float
    standing: ScoreStanding
    absent: bool = False
    not_renewed: bool = False


_ABSENT = _Cell(np.nan, np.nan, ScoreStanding.MISSING, absent=True)


def score_table(scores: Sequence[Mapping[str, MetricScore]], names: Sequence[str]) -> ScoreTable:
    """Return the scores of accepted conversations."""
    cells = [_cell(by_name.get(name)) for by_name in scores for name in names]
    columns: list[tuple[Any, ...]] = list(zip(*cells, strict=True))
    shape = len(scores), len(names)

    def array(index: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.array(columns[index] if cells else (), kind).reshape(shape)

    return ScoreTable(
        tuple(names),
        values=array(0, np.float64),
        normalised=array(1, np.float64),
        standings=array(2, np.int8),
        absent=array(3, np.bool_),
        not_renewed=array(4, np.bool_),
    )


def _cell(score: MetricScore | None) -> _Cell:
    if score is None:
        return _ABSENT
    standing, not_renewed = standing_of(score), score.latest_error is not None
    value = score_value(score)
    if value is None:
        return _Cell(np.nan, np.nan, standing, not_renewed=not_renewed)
    normalised = np.nan if score.normalized_score is None else score.normalized_score
    return _Cell(value, normalised, standing, not_renewed=not_renewed)


def task_table(states: Sequence[TaskState], names: Sequence[str]) -> ScoreTable:
    """Return the scores of tasks, accepted or not; composites are looked for first."""
    scores = [
        {**state.scores, **state.composites} if state.composites else state.scores
        for state in states
    ]
    table = score_table(scores, names)
    for row, state in enumerate(states):
        if state.status is not TaskStatus.ACCEPTED:
            table.standings[row] = _standing_without(state)
    return table


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The trials of each record taken together: a row a record, in the order of the ids.

    `means` are those of the shown values, NaN without one. `scored` counts the trials that have a
    normalised score, `passed` those among them that passed, `applicable` all trials but the skipped
    ones. `accepted` has one item a record.
    """

    names: tuple[str, ...]
    record_ids: tuple[str, ...]
    means: Floats
    scored: Counts
    passed: Counts
    applicable: Counts
    accepted: Counts


def record_table(
    states: Sequence[TaskState], table: ScoreTable, thresholds: Mapping[str, float]
) -> RecordTable:
    """Return the table of the records of these tasks; `table` has their scores."""
    ids = np.array([state.task.record.id for state in states], dtype=object)
    record_ids, rows = np.unique(ids, return_inverse=True)
    rows = rows.reshape(-1)

    def per_record(columns: Floats | Facts) -> Floats:
        totals = np.zeros((len(record_ids), *columns.shape[1:]))
        np.add.at(totals, rows, columns)
        return totals

    has_value = ~np.isnan(table.values)
    count = per_record(has_value)
    sums = per_record(np.where(has_value, table.values, 0.0))
    accepted = np.array([state.status is TaskStatus.ACCEPTED for state in states], dtype=bool)
    return RecordTable(
        names=table.names,
        record_ids=tuple(record_ids),
        means=np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0),
        scored=per_record(~np.isnan(table.normalised)).astype(np.int64),
        passed=per_record(table.passed(thresholds)).astype(np.int64),
        applicable=per_record(table.standings != ScoreStanding.SKIPPED).astype(np.int64),
        accepted=per_record(accepted).astype(np.int64),
    )


def _standing_without(state: TaskState) -> ScoreStanding:
    """Return how the scores of a task stand that has no accepted conversation."""
    if state.status is TaskStatus.FAILED:
        return ScoreStanding.FAILED
    waits = _awaits_a_verdict(state.history.last)
    return ScoreStanding.UNJUDGED if waits else ScoreStanding.PENDING


def _awaits_a_verdict(attempt: PastAttempt | None) -> bool:
    return attempt is not None and not attempt.interrupted and attempt.needs_judging
