"""The command line. Dagster and the engines are imported by the commands that need them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NoReturn, TypedDict

import typer

from orchestrator_assets.errors import ConfigurationError, OrchestratorError

app = typer.Typer(
    name="orchestrator-assets",
    help="Voice-agent evaluations as Dagster assets: simulated calls, validated, retried, scored.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

EvaluationArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[EVALUATION]",
        help="An evaluation's file, or its name; the embedded demo if absent.",
        show_default=False,
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option("--force", "--fresh", help="Call again whatever is there."),
]
RecordOption = Annotated[
    list[str] | None,
    typer.Option(
        "--record",
        metavar="ID",
        help="Only this record, or the trial ID/trial_0 of one. Repeatable.",
        show_default=False,
    ),
]
MaxAttemptsOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=20,
        help="Calls a task may use; 0 judges what is there. The evaluation's own if absent.",
        show_default=False,
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done and why; do nothing.")
]
NoPreflightOption = Annotated[
    bool,
    typer.Option("--no-preflight", help="Call without first looking whether calls can be placed."),
]


class ExitCode(IntEnum):
    """How a command ended."""

    ALL_ACCEPTED = 0
    SOME_FAILED = 1
    CONFIGURATION = 2
    PREFLIGHT = 3
    INTERRUPTED = 130


@app.command()
def run(
    evaluation: EvaluationArgument = None,
    *,
    force: ForceOption = False,
    record: RecordOption = None,
    max_attempts: MaxAttemptsOption = None,
    dry_run: DryRunOption = False,
    no_preflight: NoPreflightOption = False,
) -> None:
    """Call, validate and score every task of an evaluation; accepted ones are reused."""
    chosen: _Chosen = {"force": force, "record_ids": record or [], "max_attempts": max_attempts}
    _settle(evaluation, chosen, dry_run=dry_run, preflight=not no_preflight)


@app.command()
def rerun(
    evaluation: EvaluationArgument = None,
    *,
    record: RecordOption = None,
    max_attempts: MaxAttemptsOption = None,
    dry_run: DryRunOption = False,
    no_preflight: NoPreflightOption = False,
) -> None:
    """Try the tasks of an evaluation again that failed, and only those."""
    chosen: _Chosen = {"rerun": True, "record_ids": record or [], "max_attempts": max_attempts}
    _settle(evaluation, chosen, dry_run=dry_run, preflight=not no_preflight)


class _Chosen(TypedDict, total=False):
    force: bool
    rerun: bool
    record_ids: list[str]
    max_attempts: int | None


def _settle(evaluation: str | None, chosen: _Chosen, *, dry_run: bool, preflight: bool) -> NoReturn:
    with _exit_codes():
        if dry_run:
            from orchestrator_assets.command_line.plan import show_plan  # noqa: PLC0415

            raise typer.Exit(show_plan(evaluation, **chosen))
        from orchestrator_assets.command_line.run import settle_tasks  # noqa: PLC0415

        raise typer.Exit(settle_tasks(evaluation, **chosen, preflight=preflight))
    raise AssertionError("every way out is an exit")


@app.command()
def metrics(
    evaluation: EvaluationArgument = None,
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="Only this one. Repeatable."),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only scores that could not be computed last time.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="All scores, also those that are up to date.")
    ] = False,
    record: RecordOption = None,
    dry_run: DryRunOption = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the metrics that an evaluation may name.")
    ] = False,
) -> None:
    """Score accepted conversations where a score is lacking, errored or of an older version.

    Calls nobody. A score that can't be computed again stays as it was.
    """
    with _exit_codes():
        if failed and force:
            raise typer.BadParameter("--failed and --force exclude each other")
        if list_all:
            from orchestrator_assets.command_line.metric_list import list_metrics  # noqa: PLC0415

            raise typer.Exit(list_metrics())
        from orchestrator_assets.metrics.selection import ScoreChoice  # noqa: PLC0415

        scores = ScoreChoice.FAILED if failed else ScoreChoice.OUTDATED
        scores = ScoreChoice.ALL if force else scores
        names, record_ids = metric or [], record or []
        if dry_run:
            from orchestrator_assets.command_line.score_plan import (  # noqa: PLC0415
                show_score_plan as compute,
            )
        else:
            from orchestrator_assets.command_line.metrics import (  # noqa: PLC0415
                compute_metrics as compute,
            )
        raise typer.Exit(
            compute(evaluation, metric_names=names, scores=scores, record_ids=record_ids)
        )


@app.command()
def revalidate(
    evaluation: EvaluationArgument = None,
    *,
    record: RecordOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Judge accepted conversations again, by the thresholds and judges of today. Calls nobody."""
    with _exit_codes():
        if dry_run:
            from orchestrator_assets.command_line.plan import show_judging  # noqa: PLC0415

            raise typer.Exit(show_judging(evaluation, record_ids=record or []))
        from orchestrator_assets.command_line.revalidate import judge_again  # noqa: PLC0415

        raise typer.Exit(judge_again(evaluation, record_ids=record or []))


@app.command()
def summarize(evaluation: EvaluationArgument = None) -> None:
    """Write the summaries of an evaluation once more. Calls, judges and scores nothing."""
    with _exit_codes():
        from orchestrator_assets.command_line.summarize import summarize_again  # noqa: PLC0415

        raise typer.Exit(summarize_again(evaluation))


@app.command()
def status(
    evaluation: EvaluationArgument = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, with every task.")] = False,
) -> None:
    """Say how the tasks of an evaluation stand, also while a run works on them."""
    with _exit_codes():
        from orchestrator_assets.command_line.status import show_status  # noqa: PLC0415

        raise typer.Exit(show_status(evaluation, as_json=json))


@app.command()
def adopt(
    directory: Annotated[Path, typer.Argument(help="A run directory of ServiceNow's EVA.")],
    *,
    name: Annotated[
        str | None,
        typer.Option(help="Of the evaluation; taken from the run if absent.", show_default=False),
    ] = None,
    data_set: Annotated[
        Path | None,
        typer.Option(help="EVA's *_dataset.json; the run's own if absent.", show_default=False),
    ] = None,
    evaluations: Annotated[
        Path, typer.Option(help="The folder in which the evaluation's file is written.")
    ] = Path("evaluations"),
    output_dir: Annotated[Path, typer.Option(help="The folder of run directories.")] = Path("runs"),
    agent_url: Annotated[
        str | None,
        typer.Option(help="The agent's WebSocket, to call it again.", show_default=False),
    ] = None,
) -> None:
    """Make an evaluation of a run of EVA's, whose files stay where they are."""
    with _exit_codes():
        from orchestrator_assets.command_line.adopt import adopt_run  # noqa: PLC0415

        raise typer.Exit(
            adopt_run(
                directory,
                name=name,
                data_set=data_set,
                evaluations=evaluations,
                output_dir=output_dir,
                agent_url=agent_url,
            )
        )


@app.command()
def ui(
    evaluation: EvaluationArgument = None,
    port: Annotated[int, typer.Option(help="Port of the web page.", min=1, max=65535)] = 3000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Open Dagster's UI on the runs and assets of all evaluations there are."""
    with _exit_codes():
        from orchestrator_assets.command_line.ui import open_ui  # noqa: PLC0415

        open_ui(evaluation, host=host, port=port)


@app.command()
def doctor(
    *,
    seeds: Annotated[
        int, typer.Option(min=1, max=100, help="Calls for every fault, and as many without one.")
    ] = 5,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault", metavar="NAME", help="Plant only this. Repeatable.", show_default=False
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep the calls' files in this directory.", show_default=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Plant faults in real calls, and say how well the evaluator notices them.

    Ends with 1 where it does not notice enough, or is off by too much.
    """
    with _exit_codes():
        from orchestrator_assets.command_line.doctor import examine  # noqa: PLC0415

        raise typer.Exit(examine(seeds, fault or (), keep=keep, as_json=json))


@app.command()
def demo_agent(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8765,
    until_stdin_closes: Annotated[
        bool, typer.Option(help="Stop when the other end of standard input is gone.")
    ] = False,
) -> None:
    """Run the demo's agent by itself, to be called from anywhere."""
    with _exit_codes():
        from orchestrator_assets.demo.agent_server import serve  # noqa: PLC0415

        try:
            serve(host, port, until_stdin_closes=until_stdin_closes)
        except OSError as error:
            _complain(f"can't listen on {host}:{port}: {error.strerror or error}")
            raise typer.Exit(ExitCode.PREFLIGHT) from error


def exit_code_of(error: OrchestratorError) -> ExitCode:
    """Return the exit code that stands for an error of this package."""
    if isinstance(error, ConfigurationError):
        return ExitCode.CONFIGURATION
    return ExitCode.PREFLIGHT


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Turn this package's errors and interrupts into messages and exit codes."""
    try:
        yield
    except OrchestratorError as error:
        _complain(str(error))
        raise typer.Exit(exit_code_of(error)) from error
    except KeyboardInterrupt as interrupt:
        _complain("interrupted")
        raise typer.Exit(ExitCode.INTERRUPTED) from interrupt


def _complain(message: str) -> None:
    typer.echo(f"orchestrator-assets: {message}", err=True)


def main() -> None:
    """Run the command line; the entry point of the `orchestrator-assets` program."""
    app()


if __name__ == "__main__":
    main()
