"""Which scores `orchestrator-assets metrics` is to compute. Knows no Dagster."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.cli import ExitCode
from orchestrator_assets.command_line.choice import Choice, accepted_only, choose
from orchestrator_assets.command_line.console import make_console
from orchestrator_assets.command_line.plan import metric_lines
from orchestrator_assets.command_line.report import counted
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.evaluation import not_named
from orchestrator_assets.metrics.selection import MetricSelection, ScoreChoice
from orchestrator_assets.plan import Plan, TaskPlan, plan

_SHOWN_TASKS = 50


@dataclass(frozen=True, slots=True)
class ScoresToCompute:
    """The scores that are asked for, and what is to be done for them.

    `choice` are the tasks with an accepted conversation, `without_conversation` those that were
    named, but have none to score.
    """

    choice: Choice
    selection: MetricSelection
    planned: Plan
    without_conversation: tuple[str, ...]

    @property
    def due(self) -> list[TaskPlan]:
        """The conversations on which something is computed, in data-set order."""
        return [each for each in self.planned.tasks if each.metrics]

    @property
    def nothing_missing(self) -> ExitCode:
        """How the command ends when all that is due has been computed."""
        return ExitCode.SOME_FAILED if self.without_conversation else ExitCode.ALL_ACCEPTED


def show_score_plan(
    wanted: str | None,
    *,
    metric_names: Collection[str],
    scores: ScoreChoice,
    record_ids: Collection[str],
) -> ExitCode:
    """Print what would be computed, task by task."""
    asked = choose_scores(wanted, metric_names, scores, record_ids)
    print_score_plan(asked)
    console = make_console()
    for each in asked.due[:_SHOWN_TASKS]:
        line = f"  {each.task.id}: {', '.join(each.metrics)}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if len(asked.due) > _SHOWN_TASKS:
        console.print(f"  … and {len(asked.due) - _SHOWN_TASKS:,} more", highlight=False)
    return asked.nothing_missing


def choose_scores(
    wanted: str | None,
    metric_names: Collection[str],
    scores: ScoreChoice,
    record_ids: Collection[str],
) -> ScoresToCompute:
    """Return what is to be computed: of `metric_names`, or of all metrics if there is none.

    Raises ConfigurationError for an evaluation or a record that does not exist, and for a metric
    that the evaluation does not name.
    """
    choice = choose(wanted, record_ids=record_ids)
    evaluation = choice.evaluation
    unknown = [name for name in metric_names if name not in evaluation.metrics]
    if unknown:
        raise ConfigurationError(
            Fault(choice.file.path, "metrics", not_named(evaluation, name)) for name in unknown
        )
    selection = MetricSelection(scores, frozenset(metric_names) or None)
    accepted = accepted_only(choice, AttemptMode.METRICS_ONLY)
    keys = {task.key for task in accepted.tasks}
    others = [task.id for task in choice.tasks if task.key not in keys]
    planned = plan(evaluation, accepted.tasks, AttemptMode.METRICS_ONLY, selection)
    return ScoresToCompute(accepted, selection, planned, tuple(others if record_ids else ()))


def print_score_plan(asked: ScoresToCompute) -> None:
    """Print what is computed in a few lines, and why."""
    console = make_console()
    for line in _lines(asked):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _lines(asked: ScoresToCompute) -> Iterator[str]:
    planned, due = asked.planned, asked.due
    doing = f"compute scores of {len(due):,}" if due else "nothing to compute"
    conversations = counted(len(planned.tasks), "accepted conversation")
    yield f"{asked.choice.evaluation.name}: {conversations}: {doing}"
    yield from metric_lines(planned)
    for task_id in asked.without_conversation:
        yield f"  {task_id}: has no accepted conversation"
