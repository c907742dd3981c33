"""What the real webserver shows of a run that was executed in another process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dagster import DagsterInstance, DagsterRunStatus
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.dagster_assets import build_evaluation_definitions
from orchestrator_assets.dagster_assets.instance import (
    HOME_VARIABLE,
    WORKSPACE_FILE,
    prepare_dagster_home,
)
from orchestrator_assets.dagster_assets.launch import Launcher
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.evaluation_files import EVALUATIONS_VARIABLE

START_LIMIT_SECONDS = 90
RECORD_IDS = ["first", "second", "third"]

STATUSES = """
query ($key: AssetKeyInput!) {
  assetNodeOrError(assetKey: $key) {
    __typename
    ... on AssetNode {
      groupName
      partitionStats { numMaterialized numFailed numMaterializing numPartitions }
      assetPartitionStatuses {
        ... on DefaultPartitionStatuses {
          materializedPartitions failedPartitions unmaterializedPartitions
        }
      }
    }
  }
}
"""
RUN = """
query ($id: ID!) {
  runOrError(runId: $id) {
    ... on Run {
      status jobName hasReExecutePermission
      repositoryOrigin { repositoryName repositoryLocationName }
      tags { key value }
      assetSelection { path }
    }
  }
}
"""
REEXECUTE = """
mutation ($id: String!) {
  launchRunReexecution(reexecutionParams: {parentRunId: $id, strategy: ALL_STEPS}) {
    __typename
    ... on LaunchRunSuccess { run { parentRunId jobName } }
    ... on PythonError { message }
  }
}
"""


class Webserver:
    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=30)

    def is_up(self) -> bool:
        try:
            return self._client.get("/server_info").is_success
        except httpx.TransportError:
            return False

    def query(self, text: str, **variables: Any) -> Any:
        answer = self._client.post("/graphql", json={"query": text, "variables": variables})
        content = answer.json()
        assert "errors" not in content, content
        return content["data"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    evaluation_file = write_evaluation(tmp_path / "mine", RECORD_IDS)
    monkeypatch.setenv(EVALUATIONS_VARIABLE, str(evaluation_file))
    return prepare_dagster_home()


@pytest.fixture
def run_id(home: Path, tmp_path: Path) -> str:
    """Execute a run in which the second of three tasks fails."""
    evaluation = load_evaluation(tmp_path / "mine" / "trial_run.yaml")
    calls = FakeCalls({"second": [Attempt.MISSPOKEN]})
    definitions = build_evaluation_definitions(evaluation, create_run=calls.create_run)
    with DagsterInstance.get() as instance:
        launcher = Launcher(instance, evaluation, definitions)
        run = launcher.create_run(evaluation.load_tasks())
        assert launcher.execute(run) is DagsterRunStatus.FAILURE
        return run.run_id


@pytest.fixture
def webserver(home: Path, tmp_path: Path) -> Iterator[Webserver]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "dagster_webserver"]
    command += ["--workspace", str(WORKSPACE_FILE), "--host", "127.0.0.1", "--port", str(port)]
    log_path = tmp_path / "webserver.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": str(project_root())}
        )
    webserver = Webserver(f"http://127.0.0.1:{port}")
    try:
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while not webserver.is_up():
            assert process.poll() is None, log_path.read_text()
            assert time.monotonic() < deadline, log_path.read_text()
            time.sleep(0.2)
        yield webserver
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def project_root() -> Path:
    return Path(__file__).parents[2]


def test_the_webserver_shows_the_partitions_and_owns_the_run(
    run_id: str, webserver: Webserver
) -> None:
    for asset in ("conversation", "audio", "validation", "metrics", "record_summary"):
        key = {"path": ["trial_run", asset]}
        node = webserver.query(STATUSES, key=key)["assetNodeOrError"]
        assert node["__typename"] == "AssetNode", node
        assert node["groupName"] == "trial_run"
        assert node["partitionStats"] == {
            "numMaterialized": 2,
            "numFailed": 1,
            "numMaterializing": 0,
            "numPartitions": 3,
        }
        statuses = node["assetPartitionStatuses"]
        assert sorted(statuses["materializedPartitions"]) == ["first", "third"]
        assert statuses["failedPartitions"] == ["second"]

    run = webserver.query(RUN, id=run_id)["runOrError"]
    assert run["status"] == "FAILURE"
    assert run["repositoryOrigin"]["repositoryLocationName"] == "orchestrator_assets"
    assert len(run["assetSelection"]) == 5
    tags = {tag["key"]: tag["value"] for tag in run["tags"]}
    assert tags["dagster/asset_partition_range_start"] == "first"
    assert tags["dagster/asset_partition_range_end"] == "third"

    again = webserver.query(REEXECUTE, id=run_id)["launchRunReexecution"]
    assert again["__typename"] == "LaunchRunSuccess", again
    assert again["run"] == {"parentRunId": run_id, "jobName": run["jobName"]}
