"""An evaluation on an instance that keeps its runs and events in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from dagster import DagsterInstance
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls, write_evaluation
from postgres_server import PostgresServer, postgres_programs, running_postgres

from orchestrator_assets.dagster_assets.instance import (
    HOME_VARIABLE,
    SHIPPED_INSTANCE_FILE,
)
from orchestrator_assets.dagster_assets.keys import TaskAsset, task_asset_key
from orchestrator_assets.evaluation import load_evaluation

pytestmark = pytest.mark.stack
pytest.importorskip("dagster_postgres", reason="the extra `postgres` is not installed")

ALL = ("first", "second", "third")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server; on Debian: apt-get install postgresql")
    with running_postgres(programs) as server:
        yield server


@pytest.fixture
def instance(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DagsterInstance]:
    """The shipped instance, but for its storage, as the README has it."""
    settings = yaml.safe_load(SHIPPED_INSTANCE_FILE.read_text(encoding="utf-8"))
    settings["storage"] = {"postgres": {"postgres_url": {"env": "DAGSTER_POSTGRES_URL"}}}
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", server.url)
    with DagsterInstance.get() as instance:
        yield instance


def test_failed_tasks_are_failed_partitions_and_can_be_rerun(
    instance: DagsterInstance, tmp_path: Path
) -> None:
    assert type(instance.event_log_storage).__name__ == "PostgresEventLogStorage"
    evaluation = load_evaluation(write_evaluation(tmp_path / "evaluation", ALL))
    calls = FakeCalls({"first": [Attempt.CUT_OFF], "third": [Attempt.MISSPOKEN]})
    workbench = Workbench(instance, evaluation, calls.create_run)

    assert not workbench.materialize().success
    assert workbench.statuses() == {(("second",), ("first", "third"))}

    calls.plans = {}
    calls.placed.clear()
    assert workbench.rerun_failed().success
    assert {task_id for task_id, _ in calls.placed} == {"first", "third"}
    assert workbench.statuses() == {(ALL, ())}
    assert len(instance.get_runs()) == 2
    key = task_asset_key(evaluation.name, TaskAsset.CONVERSATION)
    assert workbench.latest(key, "third").metadata["reused"].value is False
