"""How fast finished calls are judged, and their scores aggregated: prints two tables.

    python tests/benchmarks/judging.py [--tasks 10000] [--rounds 3]

The first is of the demo's calls, placed once: seconds of call per second of CPU time, on one core,
for everything that follows a call on the local engines. `agent heard` transcribes the agent's
side, `validation` the caller's (and applies all rules), `metrics` are all deterministic ones,
`evidence` is what the check of the recordings looks at. CPU time hardly depends on what else the
machine is doing; the wall time beside it does. The best of the rounds counts.

The second is of tasks with the given number of records, and of three trials each of a third as
many, fifteen metrics and two composites, read from disk and written as summaries.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from rich.console import Console
from rich.table import Table
from stored_runs import numbered_tasks, scored, write_stored_run

from orchestrator_assets import demo
from orchestrator_assets.call.callers.base import SpokenTurn
from orchestrator_assets.call.conversation_files import read_events, read_result
from orchestrator_assets.call.frames import seconds_to_frames
from orchestrator_assets.call.recording_evidence import recording_evidence
from orchestrator_assets.call.speech.engines import default_speech_to_text
from orchestrator_assets.call.transcript import write_transcript
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.metrics.computation import MetricsComputation
from orchestrator_assets.metrics.registry import create_metrics, is_judged, metric_names
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.summary.aggregation import Aggregation
from orchestrator_assets.summary.writing import write_summaries
from orchestrator_assets.validation.caller_account import claimed_turns
from orchestrator_assets.validation.validator import Validator

PARTS = ("agent heard", "validation", "metrics", "evidence")
TRIALS = 3
METRICS = 15


@dataclass
class Spent:
    """Seconds a part took over all calls."""

    cpu: float = 0.0
    wall: float = 0.0


@dataclass
class Round:
    """One pass over all calls."""

    spent: dict[str, Spent] = field(default_factory=lambda: {part: Spent() for part in PARTS})

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.spent[name].cpu += time.process_time() - cpu
        self.spent[name].wall += time.perf_counter() - wall

    @property
    def total(self) -> Spent:
        parts = self.spent.values()
        return Spent(sum(each.cpu for each in parts), sum(each.wall for each in parts))


def main() -> None:
    arguments = _arguments()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        evaluation = load_evaluation(demo.EVALUATION_FILE)
        evaluation = evaluation.model_copy(update={"output_dir": Path(folder)})
        calls = asyncio.run(_placed_calls(evaluation))
        _on_one_core()
        rounds = [_judge(evaluation, calls) for _ in range(arguments.rounds)]
        seconds = sum(read_result(directory).duration_seconds for _, directory in calls)
        console.print(_judging_table(min(rounds, key=lambda each: each.total.cpu), seconds))
    console.print(_aggregation_table(arguments.tasks))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def _on_one_core() -> None:
    core = {min(os.sched_getaffinity(0))}
    # A new thread runs where its maker does, but those that are there already do not.
    for thread in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), core)


async def _placed_calls(evaluation: Evaluation) -> list[tuple[Task, Path]]:
    run = EvaluationRun(evaluation, evaluation.load_tasks(), run_id="benchmark")
    outcomes = [outcome async for outcome in run.outcomes()]
    return [(each.task, each.directory) for each in outcomes if each.directory is not None]


def _judge(evaluation: Evaluation, calls: Sequence[tuple[Task, Path]]) -> Round:
    recogniser = default_speech_to_text()
    validator = Validator(evaluation.validation, recogniser, caller=evaluation.caller)
    built_in = create_metrics(metric_names())
    metrics = MetricsComputation([metric.name for metric in built_in if not is_judged(metric)])
    measured = Round()
    for task, original in calls:
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / "call"
            shutil.copytree(original, directory)
            turns, started_at = _spoken_turns(directory), read_result(directory).started_at
            with measured.part("agent heard"):
                write_transcript(
                    directory, started_at=started_at, caller_turns=turns, speech_to_text=recogniser
                )
            with measured.part("validation"):
                asyncio.run(validator.validate(task, directory, bypass_gate=True))
            with measured.part("metrics"):
                asyncio.run(metrics.compute(task, directory))
            with measured.part("evidence"):
                recording_evidence(directory)
    return measured


def _spoken_turns(directory: Path) -> list[SpokenTurn]:
    return [
        SpokenTurn(
            each.turn,
            each.text,
            seconds_to_frames(each.start_seconds),
            seconds_to_frames(each.end_seconds),
            each.cut_off,
        )
        for each in claimed_turns(read_events(directory))
    ]


def _judging_table(best: Round, call_seconds: float) -> Table:
    table = Table(title=f"judging {call_seconds:.0f} s of calls on one core")
    for heading in ("part", "CPU s", "wall s", "x real time (CPU)", "x real time (wall)"):
        table.add_column(heading, justify="left" if heading == "part" else "right")
    for part, spent in [*best.spent.items(), ("all", best.total)]:
        table.add_row(
            part,
            f"{spent.cpu:.2f}",
            f"{spent.wall:.2f}",
            f"{call_seconds / spent.cpu:.0f}",
            f"{call_seconds / spent.wall:.0f}",
        )
    return table


def _aggregation_table(count: int) -> Table:
    table = Table(title=f"aggregation of {count:,} tasks, {METRICS} metrics")
    for heading in ("data set", "wall s", "CPU s"):
        table.add_column(heading, justify="left" if heading == "data set" else "right")
    for records, trials in ((count, 1), (count // TRIALS, TRIALS)):
        spent = _aggregate(numbered_tasks(records, trials))
        title = f"{records:,} records x {trials}"
        table.add_row(title, f"{spent.wall:.2f}", f"{spent.cpu:.2f}")
    return table


def _aggregate(tasks: list[Task]) -> Spent:
    random = np.random.default_rng(0)
    names = [f"metric_{number:02}" for number in range(METRICS)]
    aggregation = Aggregation(
        metrics=tuple(names),
        composites={
            "all_pass": Composite(all=dict.fromkeys(names[:3], 0.5)),
            "mean": Composite(mean=tuple(names[3:6])),
        },
        pass_thresholds=dict.fromkeys([*names, "all_pass"], 0.5),
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_stored_run(
            root, tasks, lambda _: {name: scored(name, float(random.random())) for name in names}
        )
        cpu, wall = time.process_time(), time.perf_counter()
        write_summaries(RunDirectory(root), tasks, aggregation)
        return Spent(time.process_time() - cpu, time.perf_counter() - wall)


if __name__ == "__main__":
    main()
