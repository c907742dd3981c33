"""How long a call is expected to take: by its own past, by other evaluations', by a guess (A1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_world import Call, World, task

from orchestrator_assets.attempts.earlier_durations import EarlierDurations, mean_call_seconds
from orchestrator_assets.attempts.loop import AttemptMode
from orchestrator_assets.attempts.outlook import outlooks
from orchestrator_assets.records import Task
from orchestrator_assets.store.run_directory import RunDirectory

A, B, C = task("a"), task("b"), task("c")


def write_config(world: World, data_set: str = "/data/set.jsonl", sha256: str = "1") -> None:
    provenance = {"dataset": {"path": data_set, "sha256": sha256}}
    world.run_directory.write_config({"data_set": data_set, "provenance": provenance})


@pytest.fixture
def earlier(tmp_path: Path) -> World:
    return World(tmp_path / "earlier")


@pytest.fixture
def later(tmp_path: Path) -> World:
    later = World(tmp_path / "later")
    write_config(later)
    return later


def in_order(world: World, *tasks: Task, guess: float) -> list[str]:
    """Return the tasks as they would be called again, the longest expected first."""
    expected = outlooks(
        tasks,
        run_directory=world.run_directory,
        mode=AttemptMode.FORCE,
        calls=True,
        expected_seconds=lambda _: guess,
    )
    assert all(outlook.needs_call for outlook in expected)
    return [outlook.task.id for outlook in expected]


def expected(world: World, one: Task) -> float | None:
    return EarlierDurations(world.run_directory).seconds(one)


async def test_another_evaluation_of_the_same_data_set_tells_how_long_calls_take(
    earlier: World, later: World
) -> None:
    write_config(earlier)
    earlier.scripts = {"a": [Call(seconds=30.0)], "b": [Call(seconds=300.0)]}
    await earlier.run(A, B)

    assert in_order(later, A, B, C, guess=100.0) == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("data_set", "sha256", "known"),
    [
        ("/data/set.jsonl", "2", True),
        ("/moved/set.jsonl", "1", True),
        ("/data/other.jsonl", "2", False),
    ],
)
async def test_it_is_the_same_data_set_by_its_path_or_by_its_content(
    earlier: World, later: World, data_set: str, sha256: str, known: bool
) -> None:
    write_config(earlier, data_set, sha256)
    await earlier.settle(A)

    assert expected(later, A) == (10.0 if known else None)


async def test_trials_of_a_record_take_as_long_as_the_record_did(
    earlier: World, later: World
) -> None:
    write_config(earlier)
    await earlier.settle(A)

    assert expected(later, task("a", trial=1)) == 10.0
    assert expected(later, B) is None


async def test_a_damaged_or_foreign_directory_beside_it_is_no_obstacle(
    earlier: World, later: World, tmp_path: Path
) -> None:
    write_config(earlier)
    await earlier.settle(A)
    earlier.run_directory.journal(A).path.write_bytes(b"garbage\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "config.json").write_text('{"data_set": ')
    (tmp_path / "a file").write_text("")

    assert expected(later, A) is None
    assert (await later.settle(A)).accepted


async def test_without_a_configuration_there_is_nothing_to_compare(
    earlier: World, tmp_path: Path
) -> None:
    write_config(earlier)
    await earlier.settle(A)

    assert expected(World(tmp_path / "bare"), A) is None


async def test_its_own_past_beats_another_evaluations(earlier: World, later: World) -> None:
    write_config(earlier)
    earlier.scripts["a"] = [Call(seconds=300.0)]
    await earlier.settle(A)
    later.scripts["a"] = [Call(seconds=20.0)]
    await later.settle(A)

    assert in_order(later, A, B, guess=100.0) == ["b", "a"]
    assert in_order(later, A, B, guess=19.0) == ["a", "b"]


def test_the_mean_is_of_calls_that_took_time(tmp_path: Path) -> None:
    journal = RunDirectory(tmp_path).journal(A)
    for seconds in (10.0, 0.0, 20.0, None):
        journal.append({"event": "ended", "attempt": 1, "duration_seconds": seconds})
    journal.append({"event": "judged", "attempt": 1, "duration_seconds": 99.0})

    assert mean_call_seconds(journal) == 15.0
