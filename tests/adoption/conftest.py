"""Every test adopts into an empty working directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from adopted_runs import AdoptedRuns


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workplace = tmp_path / "workplace"
    workplace.mkdir()
    monkeypatch.chdir(workplace)


@pytest.fixture
def runs() -> AdoptedRuns:
    return AdoptedRuns()
