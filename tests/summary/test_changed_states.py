"""Reading states again: what has not changed is not read, what has is."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from scripted_world import BAD_CALLER, GOOD, HANGUP, World, task

from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores
from orchestrator_assets.summary import changed_states
from orchestrator_assets.summary.changed_states import ChangedStates
from orchestrator_assets.summary.task_state import TaskStatus, read_task_state
from orchestrator_assets.summary.writing import SummaryWriter, write_summaries

A, B, C = (task(name) for name in "abc")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which tasks are read."""
    read: list[str] = []

    def reading(run_directory, one, *rest, **options):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        read.append(one.id)
        return read_task_state(run_directory, one, *rest, **options)

    monkeypatch.setattr(changed_states, "read_task_state", reading)
    return read


async def test_only_what_has_changed_is_read_again(world: World, reads: list[str]) -> None:
    states = ChangedStates(world.run_directory, [A, B, C])
    await world.run(A, B)
    states.read()
    reads.clear()

    assert [each.status for each in states.read()] == [
        TaskStatus.ACCEPTED,
        TaskStatus.ACCEPTED,
        TaskStatus.PENDING,
    ]
    assert reads == []

    await world.run(C)
    assert states.read()[2].status is TaskStatus.ACCEPTED
    assert reads == ["c"]


async def test_new_scores_and_deleted_directories_are_noticed(
    world: World, reads: list[str]
) -> None:
    states = ChangedStates(world.run_directory, [A, B])
    await world.run(A, B)
    states.read()
    score = {"late": MetricScore(name="late", score=1.0, details={"long": "x"})}
    merge_scores(world.run_directory.task_directory(A), "a", score)
    shutil.rmtree(world.run_directory.task_directory(B))

    first, second = states.read()

    assert first.scores["late"].score == 1.0
    assert second.status is TaskStatus.PENDING


async def test_details_are_not_kept(world: World) -> None:
    world.scripts["a"] = [BAD_CALLER, GOOD]
    await world.run(A)
    score = {"late": MetricScore(name="late", score=1.0, details={"long": "x"})}
    merge_scores(world.run_directory.task_directory(A), "a", score)

    [state] = ChangedStates(world.run_directory, [A]).read()

    assert state.scores["late"].details == {}
    validation = state.failures[0].validation
    assert validation is not None
    assert all(not each.details for each in validation.scores.values())


async def test_writing_again_and_again_ends_like_writing_once(world: World, tmp_path: Path) -> None:
    world.scripts = {"a": [BAD_CALLER, GOOD], "b": [HANGUP]}
    writer = SummaryWriter(world.run_directory, [A, B, C])
    running = asyncio.create_task(world.run(A, B, max_attempts=2))
    while not running.done():
        await asyncio.to_thread(writer.write)
    writer.write()
    paths = [
        world.run_directory.evaluation_summary_path,
        world.run_directory.metrics_summary_path,
        world.run_directory.results_path,
    ]
    again_and_again = [path.read_text() for path in paths]

    write_summaries(world.run_directory, [A, B, C])

    assert [path.read_text() for path in paths] == again_and_again
