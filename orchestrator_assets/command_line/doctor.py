"""`orchestrator-assets doctor`: plants faults in real calls, and shows what was noticed."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestrator_assets.attempts.outcomes import AttemptSummary, TaskOutcome
from orchestrator_assets.attempts.protocols import Validate
from orchestrator_assets.cli import ExitCode
from orchestrator_assets.command_line.console import make_console
from orchestrator_assets.doctor.detectors import DETECTORS
from orchestrator_assets.doctor.diagnosis import (
    LARGEST_LATENCY_ERROR_SECONDS,
    LEAST_PRECISION,
    LEAST_RECALL,
    Diagnosis,
    Examined,
    diagnose,
)
from orchestrator_assets.doctor.placing import NAME, make_evaluation, place
from orchestrator_assets.doctor.planted_fault import PlantedFault
from orchestrator_assets.doctor.planting import PlantedCall, planted_calls
from orchestrator_assets.doctor.report import diagnosis_as_json
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.records import Task
from orchestrator_assets.store.atomic import json_text

_LINES_OF_PROGRESS = 10
_WIDTH_WITH_EXPLANATION = 110


def examine(
    seeds: int,
    faults: Sequence[str],
    *,
    keep: Path | None = None,
    as_json: bool = False,
    validate: Validate | None = None,
) -> ExitCode:
    """Place the calls, print how good each detector is, and tell whether that is good enough.

    `faults` are those to plant, all if none is named; every detector is asked in any case. The
    calls' files are kept in the directory `keep`, if there is one. `validate` takes the place of
    the evaluator's own validation. Raises ConfigurationError for an unknown fault or a directory
    that was used before, PreflightError where no call can be placed.
    """
    calls = planted_calls(seeds, _chosen(faults))
    started = time.monotonic()
    with _directory(keep) as directory:
        diagnosis = diagnose(calls, _place(calls, directory, validate))
        seconds = time.monotonic() - started
        if as_json:
            _print_json(diagnosis, seconds)
        else:
            _print_diagnosis(make_console(), diagnosis, seconds, kept=keep is not None)
    return ExitCode.SOME_FAILED if diagnosis.shortcomings else ExitCode.ALL_ACCEPTED


def _chosen(names: Sequence[str]) -> list[PlantedFault]:
    known = [fault.value for fault in PlantedFault]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigurationError(
            Fault(None, "--fault", f"there is no fault {name!r}; known: {', '.join(known)}")
            for name in unknown
        )
    return [fault for fault in PlantedFault if not names or fault.value in names]


@contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="orchestrator-assets-doctor-") as name:
            yield Path(name)
        return
    directory = keep.absolute()
    if (directory / NAME).exists():
        message = "was used by doctor before, which examines new calls only; name another directory"
        raise ConfigurationError([Fault(directory, "--keep", message)])
    directory.mkdir(parents=True, exist_ok=True)
    yield directory


def _place(
    calls: Sequence[PlantedCall], directory: Path, validate: Validate | None
) -> list[TaskOutcome]:
    evaluation = make_evaluation(calls, directory)
    progress = _Progress(make_console(stderr=True), len(calls))
    with progress.showing():
        return asyncio.run(place(evaluation, listener=progress, validate=validate))


class _Progress:
    """One line that counts the calls; where it is no terminal, one for every tenth of them."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._settled = 0
        self._status = console.status(self._line()) if console.is_terminal else None

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Show progress within this context."""
        if self._status is None:
            yield
        else:
            with self._status:
                yield

    def attempt_started(self, task: Task, attempt: int) -> None:
        """Nothing to show."""

    def attempt_ended(self, task: Task, summary: AttemptSummary) -> None:
        """Nothing to show."""

    def task_settled(self, outcome: TaskOutcome) -> None:
        """Count the call."""
        self._settled += 1
        step = max(1, self._total // _LINES_OF_PROGRESS)
        if self._status is not None:
            self._status.update(f"{self._line()}, {outcome.task.id} last")
        elif self._settled % step == 0 or self._settled == self._total:
            self._console.print(self._line(), highlight=False)

    def _line(self) -> str:
        return f"doctor: {self._settled} of {self._total} calls placed and judged"


def _print_json(diagnosis: Diagnosis, seconds: float) -> None:
    typer.echo(json_text({"seconds": round(seconds, 1), **diagnosis_as_json(diagnosis)}, indent=2))


def _print_diagnosis(console: Console, diagnosis: Diagnosis, seconds: float, *, kept: bool) -> None:
    calls = len(diagnosis.examined)
    console.print(
        f"{calls} calls in {seconds:.0f} s, in {calls - diagnosis.clean} of them a planted fault. "
        "Every detector was asked about every call.",
        highlight=False,
    )
    console.print(_table(console, diagnosis))
    console.print(_latency_line(diagnosis), highlight=False)
    console.print(
        f"Calls with nothing wrong in them: {diagnosis.clean_accepted} of {diagnosis.clean} "
        "accepted.",
        highlight=False,
    )
    for examined in diagnosis.examined:
        for line in _misjudgements(examined, kept=kept):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for shortcoming in diagnosis.shortcomings:
        console.print(f"[red]Not good enough:[/] {escape(shortcoming)}.", highlight=False)
    if not diagnosis.shortcomings:
        console.print("[green]The evaluator notices what it should.[/]", highlight=False)


def _table(console: Console, diagnosis: Diagnosis) -> Table:
    explained = console.width >= _WIDTH_WITH_EXPLANATION
    table = Table(box=box.ASCII2)
    table.add_column("fault", no_wrap=True)
    if explained:
        table.add_column("shown by")
    for heading in ("planted", "found", "false alarms", "precision", "recall"):
        table.add_column(heading, justify="right")
    for detector in DETECTORS:
        score = diagnosis.scores[detector.fault]
        table.add_row(
            detector.fault.value,
            *([escape(detector.reads)] if explained else []),
            str(score.planted),
            str(score.true_positives),
            f"{score.false_positives} in {score.asked - score.planted}",
            _share(score.precision, LEAST_PRECISION),
            _share(score.recall, LEAST_RECALL),
        )
    return table


def _share(value: float | None, least: float) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if value >= least else f"[red]{value:.2f}[/]"


def _latency_line(diagnosis: Diagnosis) -> str:
    errors = diagnosis.latency_errors
    if errors.mean_seconds is None or errors.max_seconds is None:
        return "Response latency: no turn to measure."
    return (
        f"Response latency is off by {errors.mean_seconds * 1000:.1f} ms in the mean, "
        f"{errors.max_seconds * 1000:.1f} ms at most, over {len(errors.turns)} turns "
        f"(allowed: {LARGEST_LATENCY_ERROR_SECONDS * 1000:.0f} ms)."
    )


def _misjudgements(examined: Examined, *, kept: bool) -> Iterator[str]:
    """Yield a line for every wrong answer about a call, and one for how it settled."""
    call = examined.call
    planted = call.fault.value if call.fault is not None else "nothing"
    for answer in examined.misjudged:
        said = f"found: {answer.evidence}" if answer.evidence is not None else "found nothing"
        yield f"Misjudged: {call.record.id} (planted: {planted}), {answer.detector.value} {said}"
    if examined.misjudged or examined.wrongly_rejected:
        yield f"  {call.record.id} settled as {examined.observation.summary}"
        if kept:
            yield f"  {examined.observation.directory}"
