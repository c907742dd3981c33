"""Reruns that change nothing leave nothing behind, and no task keeps memory while it waits."""

from __future__ import annotations

from pathlib import Path

from scripted_world import BAD_CALLER, BAD_TIMEOUT, GOOD, TIMEOUT, World, task

from orchestrator_assets.attempts.loop import AttemptMode
from orchestrator_assets.summary.writing import write_summaries

TASKS = [task("a"), task("b"), task("c"), task("d", trial=0), task("d", trial=1)]
SCRIPTS = {"b": [BAD_CALLER, GOOD], "c": [TIMEOUT, BAD_TIMEOUT]}
GROWS = {"runs.jsonl"}
"""Every invocation is noted there, also one with nothing to do."""


def disk_use(root: Path) -> dict[str, int]:
    """Return the size of every file."""
    return {
        path.relative_to(root).as_posix(): path.stat().st_size
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


async def test_reruns_that_change_nothing_leave_disk_use_as_it_is(world: World) -> None:
    world.scripts = dict(SCRIPTS)
    await world.run(*TASKS, time_limited=2)
    before = disk_use(world.root)

    for mode in (AttemptMode.CALL, AttemptMode.CALL, AttemptMode.CALL):
        outcomes = await world.run(*TASKS, time_limited=2, mode=mode)
        assert all(outcome.reused for outcome in outcomes)

    after = disk_use(world.root)
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == GROWS
    assert after["runs.jsonl"] - before["runs.jsonl"] < 3 * 600


async def test_judging_nothing_with_zero_attempts_again_and_again_leaves_it_too(
    world: World,
) -> None:
    world.scripts = {**SCRIPTS, "a": [BAD_CALLER]}
    await world.run(*TASKS, time_limited=2)
    before = disk_use(world.root)

    for _ in range(3):
        await world.run(*TASKS, time_limited=2, max_attempts=0)

    after = disk_use(world.root)
    assert {name for name in after | before if after.get(name) != before.get(name)} == GROWS


async def test_summaries_written_again_take_no_more_files(world: World) -> None:
    await world.run(*TASKS)
    write_summaries(world.run_directory, TASKS)
    before = disk_use(world.root)

    for _ in range(3):
        write_summaries(world.run_directory, TASKS)

    assert disk_use(world.root) == before
