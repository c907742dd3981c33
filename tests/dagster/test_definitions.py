"""What the code location holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from evaluation_fakes import write_evaluation

from orchestrator_assets.dagster_assets.instance import SHIPPED_INSTANCE_FILE, WORKSPACE_FILE
from orchestrator_assets.dagster_assets.jobs import EvaluationJob, job_name
from orchestrator_assets.dagster_assets.launch import CODE_LOCATION
from orchestrator_assets.definitions import definitions
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation_files import EVALUATIONS_VARIABLE

PROJECT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(EVALUATIONS_VARIABLE, raising=False)


def test_the_demo_and_the_working_directorys_evaluations_are_there() -> None:
    write_evaluation(Path("evaluations"), ["a"], name="mine")

    loaded = definitions()

    groups = {spec.group_name for spec in loaded.resolve_all_asset_specs()}
    assert groups == {"demo", "mine"}
    jobs = {job.name for job in loaded.resolve_all_job_defs() if not job.name.startswith("__")}
    assert jobs >= {job_name(group, job) for group in groups for job in EvaluationJob}


def test_a_broken_evaluation_file_gives_its_own_error() -> None:
    write_evaluation(Path("evaluations"), ["a"], name="mine", max_attempts=-1)

    with pytest.raises(ConfigurationError, match=r"mine\.yaml: max_attempts"):
        definitions()


def test_loading_them_reads_no_data_set_and_loads_no_model() -> None:
    path = write_evaluation(Path("evaluations"), ["a"], name="mine")
    path.with_name("mine_records.json").write_text("not read")
    code = (
        "import sys; from orchestrator_assets.definitions import definitions; definitions();"
        "heavy = {'onnxruntime', 'hibari', 'moonshine_voice'} & sys.modules.keys();"
        "sys.exit(', '.join(heavy) or 0)"
    )

    subprocess.run(
        [sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": str(PROJECT)}
    )


def test_the_workspace_file_is_the_code_location_runs_are_recorded_under() -> None:
    workspace = yaml.safe_load((PROJECT / "workspace.yaml").read_text())

    assert workspace == yaml.safe_load(WORKSPACE_FILE.read_text())
    (location,) = workspace["load_from"]
    assert location["python_module"] == {
        "module_name": CODE_LOCATION.module_name,
        "location_name": CODE_LOCATION.location_name,
    }


def test_the_shipped_instance_sends_nothing_home_and_shows_no_dialog() -> None:
    settings = yaml.safe_load(SHIPPED_INSTANCE_FILE.read_text())

    assert settings["telemetry"] == {"enabled": False}
    assert settings["nux"] == {"enabled": False}
