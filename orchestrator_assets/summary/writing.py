"""Writes all summaries of a run directory."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_assets.records import Task
from orchestrator_assets.store.atomic import write_json, write_text
from orchestrator_assets.store.lock import exclusively
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.store.runs import read_runs
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.changed_states import ChangedStates
from orchestrator_assets.summary.collecting import no_collecting
from orchestrator_assets.summary.evaluation_summary import evaluation_summary
from orchestrator_assets.summary.metrics_summary import metrics_summary
from orchestrator_assets.summary.results_csv import results_csv


def write_summaries(
    run_directory: RunDirectory, tasks: Sequence[Task], aggregation: Aggregation | None = None
) -> None:
    """Write the summaries once, reading everything: see `SummaryWriter`."""
    SummaryWriter(run_directory, tasks, aggregation).write()


class SummaryWriter:
    """Writes evaluation_summary.json, metrics_summary.json and results.csv, as often as wanted.

    They say what the run directory says of `tasks`, which should be all tasks of the evaluation in
    data-set order, not only those of one run, and make of it what the `aggregation` declares. After
    the first time only what has changed is read. Not to be used by two threads at once.
    """

    def __init__(
        self,
        run_directory: RunDirectory,
        tasks: Sequence[Task],
        aggregation: Aggregation | None = None,
    ) -> None:
        self._run_directory = run_directory
        self._aggregation = aggregation or Aggregation()
        composites = self._aggregation.computed_composites
        self._states = ChangedStates(run_directory, tasks, composites)

    def write(self) -> None:
        """Write the summaries as things stand. Blocking; several runs take turns.

        Raises RunDirectoryError if the journal of invocations is damaged.
        """
        run_directory = self._run_directory
        with exclusively(run_directory.locks_path / ".summaries"), no_collecting():
            states = self._states.read()
            runs = read_runs(run_directory)
            metrics = metrics_summary(states, self._aggregation)
            write_json(run_directory.evaluation_summary_path, evaluation_summary(states, runs))
            write_json(run_directory.metrics_summary_path, metrics)
            table = results_csv(states, list(self._aggregation.composites))
            write_text(run_directory.results_path, table)
