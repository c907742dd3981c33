"""A code server, a webserver and a daemon, as users have them, on free ports and in a folder."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import yaml
from stack_definitions import FOLDER_VARIABLE

from orchestrator_assets.dagster_assets.instance import HOME_VARIABLE, SHIPPED_INSTANCE_FILE
from orchestrator_assets.dagster_assets.keys import TaskAsset

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LOCATION = "stack"
LIMIT_SECONDS = 90
"""For anything that is waited for; a slow machine needs a tenth of it."""
_POLL_SECONDS = 0.1
_STOP_SECONDS = 30

QUICK_INSTANCE = {
    "run_queue": {"dequeue_interval_seconds": 1},
    "run_monitoring": {
        "enabled": True,
        "poll_interval_seconds": 1,
        "free_slots_after_run_end_seconds": 1,
        "cancel_timeout_seconds": 60,
    },
}

_T = TypeVar("_T")


def wait_for(what: str, look: Callable[[], _T], limit_seconds: float = LIMIT_SECONDS) -> _T:
    """Return what `look` returns once that is true; fail the test after the limit."""
    deadline = time.monotonic() + limit_seconds
    while not (found := look()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {limit_seconds:g} s: {what}")
        time.sleep(_POLL_SECONDS)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class DagsterStack:
    """Starts and stops the three processes, and talks to them over GraphQL.

    `folder` holds the instance, the evaluations (`evaluations`) and the logs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.evaluations = folder / "evaluations"
        self.web_port = free_port()
        self._code_port = free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._client = httpx.Client(base_url=self.url, timeout=60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    def start(self) -> None:
        self._write_instance()
        code = ["-m", "dagster", "api", "grpc", "--python-file", str(HERE / "stack_definitions.py")]
        code += ["--attribute", "definitions", "--host", "127.0.0.1"]
        self._spawn("code", [*code, "--port", str(self._code_port)])
        wait_for("the code server listens", self._code_server_listens)
        workspace = ["--workspace", str(self.folder / "workspace.yaml")]
        web = ["-m", "dagster_webserver", *workspace, "--host", "127.0.0.1"]
        self._spawn("web", [*web, "--port", str(self.web_port)])
        self._spawn("daemon", [str(HERE / "quick_daemon.py"), "run", *workspace])
        wait_for("the webserver answers", self._webserver_answers)
        assert self.assets(), "the code location could not be loaded\n" + self.logs()

    def stop(self) -> None:
        """End what was started, and what that has started and left behind."""
        for process in reversed(self._processes.values()):
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self._processes.values():
            try:
                process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for process in self._processes.values():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._client.close()

    def logs(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(
            f"===== {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-60:])
            for path in sorted(self.folder.glob("*.log"))
        )

    def query(self, text: str, **variables: Any) -> Any:
        answer = self._client.post("/graphql", json={"query": text, "variables": variables})
        content = answer.json()
        assert "errors" not in content, content["errors"]
        return content["data"]

    # What can be asked for

    def assets(self) -> list[list[str]]:
        found = self.query("{ assetNodes { assetKey { path } } }")
        return [node["assetKey"]["path"] for node in found["assetNodes"]]

    def wait_until_registered(self, evaluation: str, keys: Sequence[str]) -> None:
        """Wait until a sensor has added these partitions."""
        key = {"path": [evaluation, TaskAsset.CONVERSATION]}

        def registered() -> bool:
            node = self.query(_PARTITION_KEYS, key=key)["assetNodeOrError"]
            return set(node["partitionKeys"]) >= set(keys)

        wait_for(f"the tasks of {evaluation} are partitions", registered)

    def backfill(self, evaluation: str, keys: Sequence[str]) -> str:
        """Backfill all partitioned assets of some partitions, as the dialog does."""
        launched = self.query(
            _BACKFILL,
            parameters={
                "partitionNames": list(keys),
                "assetSelection": [{"path": [evaluation, asset]} for asset in TaskAsset],
            },
        )["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        identifier: str = launched["backfillId"]
        return identifier

    def cancel_backfill(self, backfill_id: str) -> None:
        canceled = self.query(_CANCEL_BACKFILL, id=backfill_id)["cancelPartitionBackfill"]
        assert canceled["__typename"] == "CancelBackfillSuccess", canceled

    def backfill_runs(self, backfill_id: str) -> list[str]:
        """Wait until a backfill has ended, and return the statuses of its runs."""

        def ended() -> Any:
            backfill = self.query(_BACKFILL_STATUS, id=backfill_id)["partitionBackfillOrError"]
            return backfill if backfill["isValidSerialization"] and backfill["endTimestamp"] else 0

        runs = wait_for(f"backfill {backfill_id} ends", ended)["runs"]
        return sorted(run["status"] for run in runs)

    def launch(self, job: str, tags: dict[str, str] | None = None) -> str:
        """Launch a job, or for `__ASSET_JOB` … see `launch_range`."""
        return self._launch({"pipelineName": job}, tags or {})

    def launch_range(self, evaluation: str, first: str, last: str) -> str:
        """Materialise all partitioned assets of an evaluation for a range of its partitions."""
        assets = [{"path": [evaluation, asset]} for asset in TaskAsset]
        tags = {
            "dagster/asset_partition_range_start": first,
            "dagster/asset_partition_range_end": last,
        }
        return self._launch({"pipelineName": "__ASSET_JOB", "assetSelection": assets}, tags)

    def _launch(self, selector: dict[str, Any], tags: dict[str, str]) -> str:
        launched = self.query(
            _LAUNCH,
            parameters={
                "selector": {**_REPOSITORY, **selector},
                "runConfigData": {},
                "mode": "default",
                "executionMetadata": {
                    "tags": [{"key": key, "value": value} for key, value in tags.items()]
                },
            },
        )["launchPipelineExecution"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        run_id: str = launched["run"]["runId"]
        return run_id

    def terminate(self, run_id: str) -> None:
        terminated = self.query(_TERMINATE, id=run_id)["terminateRun"]
        assert terminated["__typename"] == "TerminateRunSuccess", terminated

    def status(self, run_id: str) -> str:
        status: str = self.query(_RUN, id=run_id)["runOrError"]["status"]
        return status

    def ended_status(self, run_id: str) -> str:
        """Wait until a run has ended, and return how."""

        def ended() -> str:
            status = self.status(run_id)
            return status if status in ("SUCCESS", "FAILURE", "CANCELED") else ""

        return wait_for(f"run {run_id} ends", ended)

    def runs(self, job: str) -> list[str]:
        """Return the runs of a job."""
        found = self.query(_RUNS, job=job)["runsOrError"]["results"]
        return [run["runId"] for run in found]

    def latest_tick(self, sensor: str) -> float:
        """Return when a sensor has ended its latest tick, in seconds since 1970; 0 for never."""
        selector = {**_REPOSITORY, "sensorName": sensor}
        state = self.query(_TICKS, sensor=selector)["sensorOrError"]["sensorState"]
        return max((tick["endTimestamp"] or 0 for tick in state["ticks"]), default=0)

    def worker_pid(self, run_id: str) -> int:
        """Return the process of a run, as its event log names it."""
        events = self.query(_EVENTS, id=run_id)["logsForRun"]["events"]
        for event in events:
            if found := re.search(r"Started process for run \(pid: (\d+)\)", event["message"]):
                return int(found[1])
        pytest.fail(f"run {run_id} names no process")

    def partitions(self, evaluation: str, asset: TaskAsset) -> tuple[list[str], list[str]]:
        """Return the materialised and the failed partitions of an asset, sorted."""
        node = self.query(_PARTITIONS, key={"path": [evaluation, asset]})["assetNodeOrError"]
        statuses = node["assetPartitionStatuses"]
        return sorted(statuses["materializedPartitions"]), sorted(statuses["failedPartitions"])

    def all_partitions(self, evaluation: str) -> tuple[list[str], list[str]]:
        """Return the materialised and failed partitions, in which all assets agree."""
        found = [self.partitions(evaluation, asset) for asset in TaskAsset]
        assert all(each == found[0] for each in found), found
        return found[0]

    def _write_instance(self) -> None:
        self.home.mkdir(parents=True)
        settings = yaml.safe_load(SHIPPED_INSTANCE_FILE.read_text(encoding="utf-8"))
        settings.update(QUICK_INSTANCE)
        (self.home / "dagster.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        server = {"host": "127.0.0.1", "port": self._code_port, "location_name": LOCATION}
        workspace = {"load_from": [{"grpc_server": server}]}
        (self.folder / "workspace.yaml").write_text(json.dumps(workspace), encoding="utf-8")

    def _spawn(self, name: str, arguments: Sequence[str]) -> None:
        search_path = [str(ROOT), str(ROOT / "tests"), str(HERE), os.environ.get("PYTHONPATH", "")]
        with (self.folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=os.environ
                | {
                    HOME_VARIABLE: str(self.home),
                    FOLDER_VARIABLE: str(self.evaluations),
                    "PYTHONPATH": os.pathsep.join(search_path),
                },
                start_new_session=True,
            )

    def _is_alive(self, name: str) -> None:
        if self._processes[name].poll() is not None:
            pytest.fail(f"the {name} process has ended\n{self.logs()}")

    def _code_server_listens(self) -> bool:
        self._is_alive("code")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._code_port)) == 0

    def _webserver_answers(self) -> bool:
        self._is_alive("web")
        self._is_alive("daemon")
        try:
            return self._client.get("/server_info").is_success
        except httpx.TransportError:
            return False


_REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": LOCATION}
_PARTITION_KEYS = """
query ($key: AssetKeyInput!) {
  assetNodeOrError(assetKey: $key) { ... on AssetNode { partitionKeys } }
}
"""
_BACKFILL = """
mutation ($parameters: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $parameters) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}
"""
_CANCEL_BACKFILL = """
mutation ($id: String!) {
  cancelPartitionBackfill(backfillId: $id) {
    __typename
    ... on UnauthorizedError { message }
    ... on PythonError { message }
  }
}
"""
_BACKFILL_STATUS = """
query ($id: String!) {
  partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill {
      status isValidSerialization endTimestamp runs(limit: 50) { runId status }
    }
    ... on PythonError { message }
  }
}
"""
_LAUNCH = """
mutation ($parameters: ExecutionParams!) {
  launchPipelineExecution(executionParams: $parameters) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
    ... on RunConfigValidationInvalid { errors { message } }
  }
}
"""
_TERMINATE = """
mutation ($id: String!) {
  terminateRun(runId: $id, terminatePolicy: SAFE_TERMINATE) {
    __typename
    ... on TerminateRunFailure { message }
    ... on PythonError { message }
  }
}
"""
_RUN = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
_RUNS = """
query ($job: String!) {
  runsOrError(filter: {pipelineName: $job}) { ... on Runs { results { runId } } }
}
"""
_TICKS = """
query ($sensor: SensorSelector!) {
  sensorOrError(sensorSelector: $sensor) {
    ... on Sensor { sensorState { ticks(limit: 5) { endTimestamp status } } }
  }
}
"""
_EVENTS = """
query ($id: ID!) {
  logsForRun(runId: $id) {
    ... on EventConnection { events { ... on MessageEvent { message } } }
  }
}
"""
_PARTITIONS = """
query ($key: AssetKeyInput!) {
  assetNodeOrError(assetKey: $key) {
    ... on AssetNode {
      assetPartitionStatuses {
        ... on DefaultPartitionStatuses { materializedPartitions failedPartitions }
      }
    }
  }
}
"""
