"""The journal of invocations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.run_directory import RunDirectory
from orchestrator_assets.store.runs import (
    Invocation,
    active_seconds,
    read_runs,
    record_run_ended,
    record_run_started,
)

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def run(start: float, end: float | None) -> Invocation:
    return Invocation(
        "run",
        NOON + timedelta(seconds=start),
        None if end is None else NOON + timedelta(seconds=end),
    )


def test_every_invocation_is_kept_the_killed_one_without_an_end(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    record_run_started(directory, "killed", mode="call", tasks=3)
    record_run_started(directory, "whole", mode="call", tasks=3)
    record_run_ended(directory, "whole")

    killed, whole = read_runs(directory)

    assert (killed.run_id, killed.ended_at) == ("killed", None)
    assert whole.run_id == "whole"
    assert whole.ended_at is not None
    assert whole.ended_at >= whole.started_at
    assert whole.started_at.tzinfo is not None


def test_an_id_that_comes_back_is_an_invocation_of_its_own(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    record_run_started(directory, "same", mode="call", tasks=1)
    record_run_started(directory, "same", mode="call", tasks=1)
    record_run_ended(directory, "same")

    first, second = read_runs(directory)

    assert first.ended_at is None
    assert second.ended_at is not None


def test_a_damaged_entry_is_named(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.runs.append({"event": "started"})

    with pytest.raises(RunDirectoryError, match=r"runs\.jsonl, line 1"):
        read_runs(directory)


@pytest.mark.parametrize(
    ("runs", "seconds"),
    [
        ([], 0),
        ([run(0, 10)], 10),
        ([run(0, 10), run(100, 105)], 15),
        ([run(0, 10), run(5, 12)], 12),
        ([run(0, 10), run(2, 3)], 10),
        ([run(0, None), run(20, 21)], 1),
    ],
)
def test_active_time_leaves_out_pauses_and_counts_overlaps_once(
    runs: list[Invocation], seconds: float
) -> None:
    assert active_seconds(runs) == seconds
