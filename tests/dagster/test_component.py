"""The component, as any Dagster project uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox
from dagster.components.testing.utils import DefsFolderSandbox
from evaluation_fakes import write_evaluation

import orchestrator_assets
from orchestrator_assets import VoiceEvaluation
from orchestrator_assets.dagster_assets.component import EvaluationAttributes
from orchestrator_assets.errors import ConfigurationError, Fault

PROJECT = Path(__file__).parents[2]
COMMAND_LIMIT_SECONDS = 120
VOICE_EVALUATION = "orchestrator_assets.VoiceEvaluation"
ATTRIBUTES = {
    "name": "booking",
    "data_set": "records.yaml",
    "agent": {"url": "ws://127.0.0.1:9/media"},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Dagster project that is not ours."""
    root = tmp_path / "acme_project"
    package = root / "src" / "acme"
    (package / "defs").mkdir(parents=True)
    for module in (package, package / "defs"):
        (module / "__init__.py").write_text("")
    (package / "definitions.py").write_text(
        "from pathlib import Path\n"
        "import dagster as dg\n\n"
        "@dg.definitions\n"
        "def defs():\n"
        "    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
    )
    (root / "pyproject.toml").write_text(
        '[tool.dg]\ndirectory_type = "project"\n\n'
        '[tool.dg.project]\nroot_module = "acme"\nregistry_modules = ["orchestrator_assets"]\n'
    )
    return root


@pytest.fixture
def sandbox() -> Iterator[DefsFolderSandbox]:
    """A Dagster project in this process."""
    with create_defs_folder_sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def folder(sandbox: DefsFolderSandbox) -> Path:
    """Where the `defs.yaml` lies."""
    return sandbox.defs_folder_path / "booking"


def write_defs(folder: Path, attributes: Mapping[str, object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "records.yaml").write_text("[{id: a}]")
    path = folder / "defs.yaml"
    content = {"type": VOICE_EVALUATION, "attributes": dict(attributes)}
    path.write_text(yaml.safe_dump(content))
    return path


def load(sandbox: DefsFolderSandbox, path: Path) -> VoiceEvaluation:
    with sandbox.build_component_tree() as tree:
        component = tree.load_component(path.parent)
    assert isinstance(component, VoiceEvaluation)
    return component


def faults_of(sandbox: DefsFolderSandbox, path: Path) -> tuple[Fault, ...]:
    """Return the faults that Dagster gives as the reason why it can't load a file."""
    with pytest.raises(Exception, match="Error while loading component") as caught:
        load(sandbox, path)
    assert isinstance(caught.value.__cause__, ConfigurationError)
    return caught.value.__cause__.faults


def run(project: Path, *command: str) -> str:
    paths = os.pathsep.join([str(PROJECT), str(project / "src")])
    completed = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project,
        env=os.environ | {"PYTHONPATH": paths, "DAGSTER_DISABLE_TELEMETRY": "1"},
        timeout=COMMAND_LIMIT_SECONDS,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert completed.returncode == 0, completed.stdout
    return completed.stdout


def test_importing_the_package_does_not_import_dagster() -> None:
    code = (
        "import sys, orchestrator_assets, orchestrator_assets.evaluation\n"
        "assert 'VoiceEvaluation' in dir(orchestrator_assets)\n"
        "sys.exit(sum(name.partition('.')[0] == 'dagster' for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT)


def test_there_is_nothing_else_to_import_from_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'VoiceEvaluations'"):
        orchestrator_assets.VoiceEvaluations  # noqa: B018


def test_it_is_registered_for_dg() -> None:
    pyproject = tomllib.loads((PROJECT / "pyproject.toml").read_text())

    registered = pyproject["project"]["entry-points"]["dagster_dg_cli.registry_modules"]
    assert registered == {"orchestrator_assets": "orchestrator_assets"}


def test_paths_are_relative_to_the_file_and_results_to_the_projects_root(
    sandbox: DefsFolderSandbox, folder: Path
) -> None:
    evaluation = load(sandbox, write_defs(folder, ATTRIBUTES)).evaluation

    assert evaluation.data_set == folder.resolve() / "records.yaml"
    assert [task.key for task in evaluation.load_tasks()] == ["a"]
    assert evaluation.output_dir == sandbox.project_root / "runs"


def test_faults_are_listed_by_file_and_field(sandbox: DefsFolderSandbox, folder: Path) -> None:
    path = write_defs(
        folder,
        {**ATTRIBUTES, "max_attempts": 77, "agnet": {}, "data_set": "nothing.yaml"},
    )

    faults = {(fault.file, fault.location) for fault in faults_of(sandbox, path)}

    assert faults == {(path, "max_attempts"), (path, "agnet"), (path, "data_set")}


def test_attributes_that_are_missing_altogether_are_one_fault(
    sandbox: DefsFolderSandbox, folder: Path
) -> None:
    (fault,) = faults_of(sandbox, write_defs(folder, {}))

    assert fault.location == "attributes"
    assert "are missing" in fault.message


def test_values_can_be_templates_and_texts_stay_texts(
    sandbox: DefsFolderSandbox, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKING_URL", "wss://agent.example.com/media")
    monkeypatch.setenv("BOOKING_ATTEMPTS", "5")
    monkeypatch.setenv("BOOKING_TENANT", "1.10")
    agent = {
        "url": "{{ env.BOOKING_URL }}",
        "parameters": {"tenant": "{{ env.BOOKING_TENANT }}", "think_ms": "1500"},
    }
    attributes = {**ATTRIBUTES, "agent": agent, "max_attempts": "{{ env.BOOKING_ATTEMPTS }}"}

    evaluation = load(sandbox, write_defs(folder, attributes)).evaluation

    assert evaluation.agent.url == "wss://agent.example.com/media"
    assert evaluation.agent.parameters == {"tenant": "1.10", "think_ms": "1500"}
    assert evaluation.max_attempts == 5


def test_the_schema_is_the_evaluations_and_describes_its_fields() -> None:
    schema = EvaluationAttributes.model_json_schema()

    assert schema["additionalProperties"] is False
    assert {"name", "data_set", "agent"} <= set(schema["required"])
    attempts = schema["properties"]["max_attempts"]
    assert attempts["description"] == "Attempts a task may use in one invocation."


def test_settings_for_dagster_are_those_of_the_assets(
    sandbox: DefsFolderSandbox, folder: Path
) -> None:
    settings = {
        "owners": ["team:voice", "jo@example.com"],
        "tags": {"domain": "dental", "acme/tier": "1"},
        "kinds": ["twilio"],
        "max_partitions_per_run": 20,
    }
    component = load(sandbox, write_defs(folder, {**ATTRIBUTES, "dagster": settings}))

    definitions = component.definitions()

    for spec in definitions.resolve_all_asset_specs():
        assert spec.owners == ["team:voice", "jo@example.com"]
        assert spec.tags.items() >= {"domain": "dental", "acme/tier": "1"}.items()
        assert "twilio" in spec.kinds
        if spec.partitions_def is not None:
            policy = definitions.resolve_asset_graph().get(spec.key).backfill_policy
            assert policy == dg.BackfillPolicy.multi_run(20)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"owners": ["voice"]}, "dagster.owners.0"),
        ({"tags": {"a b": "c"}}, "dagster.tags.a b.[key]"),
        ({"tags": {"a": "c d"}}, "dagster.tags.a"),
        ({"kinds": ["k"] * 9}, "dagster.kinds"),
        ({"max_partitions_per_run": 0}, "dagster.max_partitions_per_run"),
    ],
)
def test_settings_that_dagster_would_refuse_are_faults_of_the_file(
    sandbox: DefsFolderSandbox, folder: Path, settings: Mapping[str, object], field: str
) -> None:
    faults = faults_of(sandbox, write_defs(folder, {**ATTRIBUTES, "dagster": settings}))

    assert [fault.location for fault in faults] == [field]


def test_they_shape_no_call_and_one_run_is_the_default(
    sandbox: DefsFolderSandbox, folder: Path
) -> None:
    plain = load(sandbox, write_defs(folder, ATTRIBUTES))
    split = load(
        sandbox, write_defs(folder, {**ATTRIBUTES, "dagster": {"max_partitions_per_run": 1}})
    )

    record = plain.evaluation.load_tasks()[0].record
    assert plain.evaluation.call_fingerprint(record) == split.evaluation.call_fingerprint(record)
    graph = plain.definitions().resolve_asset_graph()
    key = dg.AssetKey(["booking", "conversation"])
    assert graph.get(key).backfill_policy == dg.BackfillPolicy.single_run()


def test_a_project_keeps_its_own_executor(sandbox: DefsFolderSandbox, folder: Path) -> None:
    component = load(sandbox, write_defs(folder, ATTRIBUTES))
    context = dg.ComponentTree.for_test().load_context

    in_project = component.build_defs(context)

    assert in_project.executor is None
    merged = dg.Definitions.merge(in_project, dg.Definitions(executor=dg.multiprocess_executor))
    assert merged.executor is dg.multiprocess_executor


def test_an_evaluation_file_makes_the_same_component(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path, ["a"], name="mine")

    keys = VoiceEvaluation.from_file(path).definitions().resolve_all_asset_keys()

    assert dg.AssetKey(["mine", "conversation"]) in keys


def test_two_in_one_project_are_loaded_side_by_side(project: Path) -> None:
    defs = project / "src" / "acme" / "defs"
    write_defs(defs / "booking", ATTRIBUTES)
    write_defs(defs / "cancelling", {**ATTRIBUTES, "name": "cancelling"})

    code = (
        "from acme.definitions import defs\n"
        "print(*sorted({spec.group_name for spec in defs().resolve_all_asset_specs()}))\n"
        "print(*sorted(job.name for job in defs().resolve_all_job_defs()))\n"
    )
    (project / "src" / "show.py").write_text(code)
    groups, jobs = run(project, "show").splitlines()[-2:]

    assert groups == "booking cancelling"
    assert "booking_run_evaluation" in jobs
    assert "cancelling_run_evaluation" in jobs


def test_it_is_scaffolded_and_checked_by_dg(project: Path) -> None:
    run(project, "dagster_dg_cli.cli", "scaffold", "defs", VOICE_EVALUATION, "my_eval")
    run(
        project,
        "dagster_dg_cli.cli",
        "scaffold",
        "defs",
        VOICE_EVALUATION,
        "2nd",
        "--format",
        "python",
    )

    checked = run(project, "dagster_dg_cli.cli", "check", "defs")
    assert "All component YAML validated successfully." in checked
    assert "All definitions loaded successfully." in checked
    listed = run(project, "dagster_dg_cli.cli", "list", "defs", "--json")
    assert '"my_eval/conversation"' in listed
    assert '"evaluation_2nd/conversation"' in listed
    assert '"my_eval_run_evaluation"' in listed
