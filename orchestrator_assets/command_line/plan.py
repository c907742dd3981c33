"""What a run is about to do, in a few lines; all there is to see of a dry run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from rich.console import Console

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.command_line.choice import Choice, accepted_only, choose
from orchestrator_assets.command_line.console import make_console
from orchestrator_assets.command_line.report import counted
from orchestrator_assets.metrics.selection import StaleScore
from orchestrator_assets.plan import Plan, Step, TaskPlan, plan

_SHOWN_REASONS = 5
_SHOWN_TASKS = 50


def show_plan(
    wanted: str | None,
    *,
    force: bool = False,
    rerun: bool = False,
    record_ids: Collection[str] = (),
    max_attempts: int | None = None,
) -> int:
    """Print what a run would do, task by task where it would do anything, and return 0."""
    choice = choose(
        wanted, force=force, rerun=rerun, record_ids=record_ids, max_attempts=max_attempts
    )
    console = make_console()
    planned = plan(choice.evaluation, choice.tasks, choice.mode)
    print_plan(console, choice, planned)
    for line in _task_lines(planned):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def show_judging(wanted: str | None, *, record_ids: Collection[str] = ()) -> int:
    """Print which conversations would be judged again, and return 0, or 1 if there is none."""
    choice = choose_to_judge(wanted, record_ids)
    return 0 if choice.tasks else 1


def choose_to_judge(wanted: str | None, record_ids: Collection[str]) -> Choice:
    """Return the accepted conversations to judge again without a call, after printing the plan."""
    choice = choose(wanted, record_ids=record_ids, max_attempts=0)
    choice = accepted_only(choice, AttemptMode.VALIDATE_ONLY)
    console = make_console()
    if choice.tasks:
        print_plan(console, choice, plan(choice.evaluation, choice.tasks, choice.mode))
    else:
        which = "None of these tasks" if record_ids else f"No task of {choice.evaluation.name}"
        console.print(f"{which} has an accepted conversation to judge.", highlight=False)
    return choice


def print_plan(console: Console, choice: Choice, planned: Plan) -> None:
    """Print the plan in a few lines."""
    for line in plan_lines(choice.evaluation.name, planned):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def plan_lines(name: str, planned: Plan) -> Iterator[str]:
    """Yield the plan in a few lines: what is done how often, why, and what it takes."""
    yield f"{name}: {counted(len(planned.tasks), 'task')}: {'; '.join(_doings(planned)) or 'none'}"
    stale = Counter(each.because for each in planned.stale)
    if stale:
        shown = [f"{because} ({count})" for because, count in stale.most_common(_SHOWN_REASONS)]
        more = ["…"] if len(stale) > _SHOWN_REASONS else []
        yield f"  out of date: {'; '.join([*shown, *more])}"
    yield from metric_lines(planned)
    if planned.calls:
        needed, free = _size(planned.disk_needed_bytes), _size(planned.disk_free_bytes)
        yield (
            f"  about {_duration(planned.estimated_seconds)} for these calls, "
            f"up to {planned.slots} at a time; {needed} of {free} free on the disk"
        )


def metric_lines(planned: Plan) -> Iterator[str]:
    """Yield which metrics are computed on how many conversations, and which scores are stale."""
    if planned.metrics:
        metrics = (f"{metric} ({count})" for metric, count in planned.metrics.items())
        yield f"  metrics to compute: {', '.join(metrics)}"
    if planned.stale_scores:
        stale = {score.metric for score in planned.stale_scores}
        left_alone = stale - planned.metrics.keys()
        hint = "; `orchestrator-assets metrics` computes them again" if left_alone else ""
        yield f"  of an older version: {shown_stale(planned.stale_scores)}{hint}"


def shown_stale(counts: Mapping[StaleScore, int]) -> str:
    """Return which versions of which scores there are, and on how many conversations."""
    return ", ".join(
        f"{score.metric} {score.version} → {score.current} ({count:,})"
        for score, count in counts.items()
    )


def _doings(planned: Plan) -> Iterator[str]:
    if planned.calls:
        yield f"call {planned.calls:,} ({_how_often(planned)})"
    for step, doing in (
        (Step.JUDGE, "judge {:,} without a call"),
        (Step.ACCEPT, "accept {:,} judged before"),
        (Step.REUSE, "reuse {:,}"),
        (Step.NOTHING, "leave {:,} as they are"),
    ):
        count = len(planned.with_step(step))
        if count:
            yield doing.format(count)


def _how_often(planned: Plan) -> str:
    if not planned.calls_again:
        return "for the first time"
    if not planned.first_calls:
        return "again"
    return f"{planned.first_calls:,} for the first time, {planned.calls_again:,} again"


def _task_lines(planned: Plan) -> Iterator[str]:
    busy = [each for each in planned.tasks if each.step is not Step.REUSE or each.metrics]
    for each in busy[:_SHOWN_TASKS]:
        yield f"  {each.task.id}: {_doing(each)}"
    if len(busy) > _SHOWN_TASKS:
        yield f"  … and {len(busy) - _SHOWN_TASKS:,} more"


def _doing(each: TaskPlan) -> str:
    if each.step is Step.REUSE:
        return f"{each.step}, compute {', '.join(each.metrics)}"
    return f"{each.step} ({each.because})"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    minutes = round(seconds / 60)
    return counted(minutes, "minute") if minutes < 120 else f"{seconds / 3600:.1f} hours"


def _size(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"
