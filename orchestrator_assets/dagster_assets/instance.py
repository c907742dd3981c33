"""The Dagster instance of the working directory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

HOME_VARIABLE = "DAGSTER_HOME"
DEFAULT_HOME = Path(".dagster_home")
INSTANCE_FILE = "dagster.yaml"
SHIPPED_INSTANCE_FILE = Path(__file__).parent / INSTANCE_FILE
WORKSPACE_FILE = Path(__file__).parent / "workspace.yaml"


def prepare_dagster_home() -> Path:
    """Return `DAGSTER_HOME`, else `.dagster_home` of the working directory, and make it ready.

    It is created if need be, with the shipped `dagster.yaml` where it has none. The environment of
    this process names it from then on, as an absolute path: Dagster takes no other.
    """
    home = Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME).expanduser().absolute()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / INSTANCE_FILE).exists():
        shutil.copyfile(SHIPPED_INSTANCE_FILE, home / INSTANCE_FILE)
    os.environ[HOME_VARIABLE] = str(home)
    return home
