"""Fixtures of the Dagster tests: a real instance on disk, and an evaluation with fake calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance
from dagster_workbench import Workbench
from evaluation_fakes import FakeCalls, write_evaluation

from orchestrator_assets.evaluation import Evaluation, load_evaluation

RECORD_IDS = [f"record_{number}" for number in range(5)]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    home = tmp_path / "dagster_home"
    home.mkdir()
    with DagsterInstance.local_temp(str(home)) as instance:
        yield instance


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    return load_evaluation(write_evaluation(tmp_path / "evaluation", RECORD_IDS))


@pytest.fixture
def calls() -> FakeCalls:
    return FakeCalls()


@pytest.fixture
def workbench(instance: DagsterInstance, evaluation: Evaluation, calls: FakeCalls) -> Workbench:
    return Workbench(instance, evaluation, calls.create_run)
