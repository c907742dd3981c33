"""`orchestrator-assets ui`: Dagster's webserver and daemon on the instance that has the runs."""

from __future__ import annotations

import os
import signal
import sys

from dagster import DagsterInstance

from orchestrator_assets.dagster_assets.instance import WORKSPACE_FILE, prepare_dagster_home
from orchestrator_assets.dagster_assets.launch import register_evaluation
from orchestrator_assets.evaluation_files import find_evaluation, load_evaluations, make_findable


def open_ui(wanted: str | None, *, host: str, port: int) -> None:
    """Replace this process by `dagster dev`.

    Every evaluation that can be found is shown, `wanted` among them. Their tasks are registered
    first, so that the partitions are there at the first look. Raises ConfigurationError if one of
    the evaluations can't be used.
    """
    make_findable(find_evaluation(wanted))
    prepare_dagster_home()
    with DagsterInstance.get() as instance:
        for file in load_evaluations():
            register_evaluation(instance, file.evaluation)
    command = ui_command(host=host, port=port)
    # Dagster ends by SIGTERM as it does by SIGINT; a process in the background ignores the latter.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(command[0], command)  # noqa: S606 - our own interpreter, no shell


def ui_command(*, host: str, port: int) -> list[str]:
    """Return the command of the webserver and daemon."""
    return [
        # It warns that `dg dev` supersedes it, which comes with a package of its own.
        *(sys.executable, "-W", "ignore:Function `dev_command`", "-m", "dagster", "dev"),
        *("--workspace", str(WORKSPACE_FILE)),
        *("--host", host),
        *("--port", str(port)),
    ]
