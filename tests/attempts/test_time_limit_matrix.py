"""Every shape of A5: how many are asked for, which one passes, older archives, kills, reruns."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from scripted_world import (
    BAD_TIMEOUT,
    HANGUP,
    TIMEOUT,
    World,
    read_plan,
    read_result,
    task,
)

from orchestrator_assets.attempts.outcomes import Acceptance, Outcome, TaskOutcome

A = task("a")
OLDER = 3
"""Attempts of an earlier, failed invocation, whose archives take the first numbers."""

PASSING = {"first": 0, "middle": 1, "last": 2, "none": None}


def cases() -> list[tuple[int, str, bool, bool]]:
    """Return each N with each position of the passing attempt there can be among N."""
    shapes = {0: ["first"], 1: ["first", "none"], 2: ["first", "last", "none"], 3: list(PASSING)}
    return [
        (wanted, which, older, across)
        for wanted, which_ones in shapes.items()
        for which, older, across in itertools.product(which_ones, (False, True), (False, True))
    ]


async def settle(world: World, wanted: int, across_reruns: bool) -> TaskOutcome:
    """Make `wanted` attempts, in one invocation or in one each."""
    if not across_reruns:
        return await world.settle(A, time_limited=wanted, max_attempts=max(wanted, 1))
    for _ in range(max(wanted, 1)):
        outcome = await world.settle(A, time_limited=wanted, max_attempts=1)
    return outcome


@pytest.mark.parametrize(("wanted", "which", "older", "across_reruns"), cases())
async def test_the_well_played_call_is_accepted_and_the_others_are_archived(
    world: World, wanted: int, which: str, older: bool, across_reruns: bool
) -> None:
    first = OLDER + 1 if older else 1
    position = PASSING[which] if which != "last" else max(wanted, 1) - 1
    limited = [TIMEOUT if index == position else BAD_TIMEOUT for index in range(max(wanted, 1))]
    world.scripts["a"] = [*([HANGUP] * OLDER if older else []), *limited]
    if older:
        await world.settle(A, time_limited=wanted)

    outcome = await settle(world, wanted, across_reruns)

    expected = None if wanted == 0 or position is None else first + position
    assert outcome.accepted_attempt == expected
    numbers = set(range(1, first + max(wanted, 1)))
    archives = [f"a_failed_attempt_{number}" for number in sorted(numbers - {expected})]
    assert world.record_directories() == [*(["a"] if expected else []), *archives]
    assert all(world.archived_call(A, number) == f"a#{number}" for number in numbers - {expected})
    if expected is None:
        return
    assert outcome.acceptance is Acceptance.TIME_LIMIT
    assert world.current_call(A) == f"a#{expected}"
    assert read_result(world.run_directory.task_directory(A))["time_limit_accepted"] is True
    await assert_a_rerun_changes_nothing(world, wanted)


async def assert_a_rerun_changes_nothing(world: World, wanted: int) -> None:
    calls, files, journal = list(world.calls), world.tree(), world.journal(A)

    outcome = await world.settle(A, time_limited=wanted)

    assert outcome.reused
    assert (world.calls, world.tree(), world.journal(A)) == (calls, files, journal)


@pytest.mark.parametrize("wanted", [1, 2, 3])
async def test_what_was_accepted_is_scored_and_nothing_else(world: World, wanted: int) -> None:
    world.scripts["a"] = [TIMEOUT, *[BAD_TIMEOUT] * 9]

    await world.settle(A, time_limited=wanted)

    assert world.scored == [("a", "a#1")]
    assert world.archived_call(A, wanted) == f"a#{wanted}" if wanted > 1 else True


async def test_a_time_limited_call_is_judged_once_and_with_the_gate_bypassed(
    world: World,
) -> None:
    world.scripts["a"] = [TIMEOUT, BAD_TIMEOUT, BAD_TIMEOUT]

    outcome = await world.settle(A, time_limited=3)

    assert world.judged == [("a", f"a#{number}", True) for number in (1, 2, 3)]
    assert {each.outcome for each in outcome.attempts} == {Outcome.TIME_LIMIT_EXCEEDED}


async def test_tasks_that_restore_side_by_side_do_not_touch_each_other(world: World) -> None:
    tasks = [task("r", trial=trial) for trial in range(4)]
    world.scripts = {each.id: [TIMEOUT, BAD_TIMEOUT] for each in tasks}

    outcomes = await asyncio.wait_for(world.run(*tasks, time_limited=2), 10)

    for one, outcome in zip(tasks, outcomes, strict=True):
        assert outcome.accepted_attempt == 1
        assert read_plan(world.run_directory.task_directory(one))["call"] == f"{one.id}#1"
