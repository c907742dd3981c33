"""Acceptance of conversations that ran into the time limit (A5)."""

from __future__ import annotations

import shutil

import pytest
from scripted_world import (
    BAD_CALLER,
    BAD_TIMEOUT,
    GOOD,
    HANGUP,
    TIMEOUT,
    Call,
    World,
    read_plan,
    read_result,
    task,
)

from orchestrator_assets.attempts.loop import AttemptMode
from orchestrator_assets.attempts.outcomes import Acceptance, Outcome
from orchestrator_assets.call.conversation import EndReason

A = task("a")


def timeout(fidelity: float) -> Call:
    return Call(EndReason.TIME_LIMIT_EXCEEDED, fidelity=fidelity)


async def test_with_one_the_first_well_played_timeout_is_accepted(world: World) -> None:
    world.scripts["a"] = [TIMEOUT]

    outcome = await world.settle(A, time_limited=1)

    assert outcome.acceptance is Acceptance.TIME_LIMIT
    assert (outcome.accepted_attempt, outcome.attempts_made) == (1, 1)
    assert outcome.directory is not None
    assert read_result(outcome.directory)["time_limit_accepted"] is True
    assert outcome.attempts[0].outcome is Outcome.TIME_LIMIT_EXCEEDED
    assert outcome.attempts[0].validation is not None
    assert outcome.attempts[0].validation.gate_bypassed
    assert world.judged == [("a", "a#1", True)]
    assert world.scored == [("a", "a#1")]


async def test_with_one_a_badly_played_timeout_is_not_accepted(world: World) -> None:
    world.scripts["a"] = [BAD_TIMEOUT, TIMEOUT]

    outcome = await world.settle(A, time_limited=1)

    assert (outcome.acceptance, outcome.accepted_attempt) == (Acceptance.TIME_LIMIT, 2)


async def test_with_zero_no_timeout_is_accepted_and_none_is_judged_beyond_the_gate(
    world: World,
) -> None:
    world.scripts["a"] = [TIMEOUT]

    outcome = await world.settle(A, time_limited=0)

    assert not outcome.accepted
    assert [each.outcome for each in outcome.attempts] == [Outcome.TIME_LIMIT_EXCEEDED] * 3
    assert not any(bypassed for _, _, bypassed in world.judged)


async def test_with_zero_a_timeout_that_was_found_well_played_before_is_not_accepted_either(
    world: World,
) -> None:
    world.scripts["a"] = [TIMEOUT, HANGUP]
    await world.settle(A, time_limited=2, max_attempts=1)

    outcome = await world.settle(A, time_limited=0, max_attempts=1)

    assert not outcome.accepted
    assert world.record_directories() == ["a_failed_attempt_1", "a_failed_attempt_2"]


async def test_with_zero_other_failures_are_retried_as_ever(world: World) -> None:
    world.scripts["a"] = [HANGUP, TIMEOUT, GOOD]

    outcome = await world.settle(A, time_limited=0)

    assert (outcome.acceptance, outcome.accepted_attempt) == (Acceptance.VALIDATED, 3)


async def test_with_two_the_second_is_accepted_if_it_was_played_well(world: World) -> None:
    world.scripts["a"] = [TIMEOUT, TIMEOUT]

    outcome = await world.settle(A, time_limited=2)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (2, 2)
    assert world.archived_call(A, 1) == "a#1"


async def test_with_two_the_first_is_restored_if_only_that_was_played_well(world: World) -> None:
    world.scripts["a"] = [TIMEOUT, BAD_TIMEOUT]

    outcome = await world.settle(A, time_limited=2)

    assert (outcome.acceptance, outcome.accepted_attempt) == (Acceptance.TIME_LIMIT, 1)
    assert outcome.directory is not None
    assert world.current_call(A) == "a#1"
    assert read_result(outcome.directory)["time_limit_accepted"] is True
    assert world.record_directories() == ["a", "a_failed_attempt_2"]
    assert world.archived_call(A, 2) == "a#2"
    assert world.scored == [("a", "a#1")]
    accepted = next(entry for entry in world.journal(A) if entry["event"] == "accepted")
    assert accepted["archive"] == "records/a_failed_attempt_1"


async def test_with_three_the_best_of_the_earlier_ones_is_restored(world: World) -> None:
    world.scripts["a"] = [timeout(0.8), timeout(0.9), BAD_TIMEOUT]

    outcome = await world.settle(A, time_limited=3)

    assert outcome.accepted_attempt == 2
    assert world.record_directories() == ["a", "a_failed_attempt_1", "a_failed_attempt_3"]


async def test_with_three_other_failures_in_between_do_not_count(world: World) -> None:
    world.scripts["a"] = [TIMEOUT, BAD_CALLER, TIMEOUT, HANGUP, BAD_TIMEOUT]

    outcome = await world.settle(A, time_limited=3, max_attempts=5)

    assert outcome.accepted_attempt == 1
    assert world.record_directories() == [
        "a",
        *(f"a_failed_attempt_{number}" for number in (2, 3, 4, 5)),
    ]


async def test_a_valid_conversation_still_beats_an_earlier_timeout(world: World) -> None:
    world.scripts["a"] = [TIMEOUT, GOOD]

    outcome = await world.settle(A, time_limited=2)

    assert (outcome.acceptance, outcome.accepted_attempt) == (Acceptance.VALIDATED, 2)


async def test_more_than_the_budget_is_reached_over_several_invocations(world: World) -> None:
    world.scripts["a"] = [TIMEOUT, BAD_TIMEOUT]
    first = await world.settle(A, time_limited=3, max_attempts=2)

    second = await world.settle(A, time_limited=3, max_attempts=2)

    assert not first.accepted
    assert (second.accepted_attempt, second.attempts_made) == (1, 1)
    assert world.record_directories() == ["a", "a_failed_attempt_2", "a_failed_attempt_3"]


async def test_restores_the_attempt_that_passed_and_not_an_older_archive_of_the_same_number(
    world: World,
) -> None:
    world.scripts["a"] = [HANGUP, HANGUP, HANGUP, TIMEOUT, BAD_TIMEOUT]
    await world.settle(A)

    outcome = await world.settle(A, time_limited=2)

    assert outcome.accepted_attempt == 4
    assert world.current_call(A) == "a#4"
    assert world.record_directories() == [
        "a",
        *(f"a_failed_attempt_{number}" for number in (1, 2, 3, 5)),
    ]


async def test_restoring_never_nests_one_directory_in_another(world: World) -> None:
    world.scripts["a"] = [HANGUP, HANGUP, HANGUP, TIMEOUT, BAD_TIMEOUT]
    await world.settle(A)
    await world.settle(A, time_limited=2)

    for directory in world.run_directory.records_path.iterdir():
        assert [path.name for path in directory.iterdir() if path.is_dir()] == []
        assert read_plan(directory)["call"].startswith("a#")


async def test_a_lowered_number_accepts_from_the_archive_without_calling(world: World) -> None:
    world.scripts["a"] = [TIMEOUT, HANGUP]
    await world.settle(A, time_limited=2, max_attempts=2)

    outcome = await world.settle(A, time_limited=1)

    assert (outcome.accepted_attempt, outcome.attempts_made, outcome.reused) == (1, 0, True)
    assert len(world.calls) == 2


async def test_timeouts_under_other_settings_do_not_count(world: World) -> None:
    world.scripts["a"] = [TIMEOUT, BAD_TIMEOUT]
    await world.settle(A, time_limited=2, max_attempts=1)
    world.fingerprint = "other settings"

    outcome = await world.settle(A, time_limited=2, max_attempts=1)

    assert not outcome.accepted
    assert world.record_directories() == ["a_failed_attempt_1", "a_failed_attempt_2"]


async def test_an_archive_that_was_deleted_is_passed_over(world: World) -> None:
    world.scripts["a"] = [timeout(0.9), timeout(0.8), BAD_TIMEOUT]
    await world.settle(A, time_limited=3, max_attempts=2)
    shutil.rmtree(world.run_directory.archive_directory(A, 1))

    outcome = await world.settle(A, time_limited=3, max_attempts=1)

    assert outcome.accepted_attempt == 2


@pytest.mark.parametrize("already_restored", [False, True])
async def test_a_kill_in_the_middle_of_restoring_is_carried_on_from(
    world: World, already_restored: bool
) -> None:
    world.scripts["a"] = [TIMEOUT, BAD_TIMEOUT]
    await world.settle(A, time_limited=2)
    journal = world.run_directory.journal(A)
    entries = journal.path.read_bytes().split(b"\n")
    kept = [line for line in entries if b'"accepted"' not in line and b"metrics_c" not in line]
    journal.path.write_bytes(b"\n".join(kept))
    if not already_restored:
        current = world.run_directory.task_directory(A)
        current.rename(world.run_directory.archive_directory(A, 1))

    outcome = await world.settle(A, time_limited=2)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (1, 0)
    assert world.record_directories() == ["a", "a_failed_attempt_2"]
    assert len(world.calls) == 2


async def test_an_accepted_timeout_is_reused_by_a_rerun(world: World) -> None:
    world.scripts["a"] = [TIMEOUT]
    await world.settle(A)

    outcome = await world.settle(A)

    assert (outcome.acceptance, outcome.reused) == (Acceptance.TIME_LIMIT, True)
    assert len(world.calls) == 1


async def test_judging_again_upholds_an_accepted_timeout(world: World) -> None:
    world.scripts["a"] = [TIMEOUT]
    await world.settle(A)

    outcome = await world.settle(A, mode=AttemptMode.VALIDATE_ONLY)

    assert outcome.acceptance is Acceptance.TIME_LIMIT
    assert world.judged == [("a", "a#1", True)] * 2


async def test_judging_alone_asks_for_as_many_timeouts_as_calling_does(world: World) -> None:
    world.scripts["a"] = [TIMEOUT]
    world.judge_outages["a"] = 3
    await world.settle(A, time_limited=2)
    world.judge_outages["a"] = 0

    too_few = await world.settle(A, time_limited=2, mode=AttemptMode.VALIDATE_ONLY)
    enough = await world.settle(A, time_limited=1, mode=AttemptMode.VALIDATE_ONLY)

    assert not too_few.accepted
    assert enough.acceptance is Acceptance.TIME_LIMIT
    assert world.record_directories() == ["a"]
