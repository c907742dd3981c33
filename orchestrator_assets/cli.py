"""The command line. Dagster and the engines are imported by the commands that need them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Annotated

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
    bool, typer.Option("--force", help="Call again even where an accepted conversation is there.")
]


class ExitCode(IntEnum):
    """How a command ended."""

    ALL_ACCEPTED = 0
    SOME_FAILED = 1
    CONFIGURATION = 2
    PREFLIGHT = 3
    INTERRUPTED = 130


@app.command()
def run(evaluation: EvaluationArgument = None, force: ForceOption = False) -> None:
    """Call, validate and score every task of an evaluation; accepted ones are reused."""
    with _exit_codes():
        from orchestrator_assets.cli_run import run_evaluation  # noqa: PLC0415

        raise typer.Exit(run_evaluation(evaluation, force=force))


@app.command()
def rerun(evaluation: EvaluationArgument = None) -> None:
    """Try the tasks of an evaluation again that failed, and only those."""
    with _exit_codes():
        from orchestrator_assets.cli_run import rerun_failed_tasks  # noqa: PLC0415

        raise typer.Exit(rerun_failed_tasks(evaluation))


@app.command()
def ui(
    evaluation: EvaluationArgument = None,
    port: Annotated[int, typer.Option(help="Port of the web page.", min=1, max=65535)] = 3000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Open Dagster's UI on the runs and assets of all evaluations there are."""
    with _exit_codes():
        from orchestrator_assets.cli_ui import open_ui  # noqa: PLC0415

        open_ui(evaluation, host=host, port=port)


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
