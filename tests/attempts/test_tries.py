"""When a task is tried again, and when that ends: retry_on, the same failure, kills (A5, A11)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from scripted_world import (
    BAD_CALLER,
    BAD_TIMEOUT,
    GOOD,
    HANGUP,
    TIMEOUT,
    Call,
    World,
    task,
    until,
)

from orchestrator_assets.attempts.history import PastAttempt
from orchestrator_assets.attempts.loop import AttemptMode
from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.attempts.tries import signature
from orchestrator_assets.call.conversation import ADOPTED_FINGERPRINT, EndReason
from orchestrator_assets.summary.evaluation_summary import evaluation_summary
from orchestrator_assets.summary.record_summary import record_summary
from orchestrator_assets.summary.task_state import read_task_state

A = task("a")
ALL_BUT_THE_AGENT = tuple(cause for cause in Cause if cause is not Cause.AGENT)
OTHER_HANGUP = Call(EndReason.TRANSPORT_ERROR)


async def test_a_cause_that_is_left_out_ends_the_tries(world: World) -> None:
    world.scripts["a"] = [BAD_CALLER, HANGUP, GOOD]

    outcome = await world.settle(A, retry_on=ALL_BUT_THE_AGENT, max_attempts=5)

    assert (outcome.accepted, outcome.attempts_made) == (False, 2)
    assert outcome.stopped_early is not None
    assert "attempt 2: retry_on leaves out failures of the agent" in outcome.stopped_early
    assert world.record_directories() == ["a_failed_attempt_1", "a_failed_attempt_2"]


async def test_a_call_that_claims_other_settings_uses_up_its_try_all_the_same(
    world: World,
) -> None:
    world.scripts["a"] = [BAD_CALLER] * 3
    world.claimed_fingerprint = "settings of somebody else"

    outcome = await world.settle(A, max_attempts=2)

    assert (outcome.accepted, outcome.attempts_made) == (False, 2)


async def test_causes_that_are_listed_are_tried_again(world: World) -> None:
    world.scripts["a"] = [BAD_CALLER, BAD_CALLER, GOOD]

    outcome = await world.settle(A, retry_on=(Cause.CALLER,))

    assert (outcome.accepted_attempt, outcome.stopped_early) == (3, None)


async def test_a_rerun_tries_again_what_retry_on_had_ended(world: World) -> None:
    world.scripts["a"] = [HANGUP, GOOD]
    await world.settle(A, retry_on=ALL_BUT_THE_AGENT)

    outcome = await world.settle(A, retry_on=ALL_BUT_THE_AGENT)

    assert outcome.accepted_attempt == 2


@pytest.mark.parametrize(
    ("time_limited", "calls", "accepted"),
    [(0, 1, False), (1, 1, True), (2, 2, True), (3, 3, True)],
)
async def test_calls_that_ran_into_the_limit_follow_a5_whatever_retry_on_says(
    world: World, time_limited: int, calls: int, accepted: bool
) -> None:
    world.scripts["a"] = [TIMEOUT]

    outcome = await world.settle(A, time_limited=time_limited, retry_on=ALL_BUT_THE_AGENT)

    assert (outcome.attempts_made, outcome.accepted) == (calls, accepted)


async def test_the_same_failure_three_times_in_a_row_ends_the_tries(world: World) -> None:
    world.scripts["a"] = [HANGUP]

    outcome = await world.settle(A, max_attempts=10)

    assert (outcome.accepted, outcome.attempts_made) == (False, 3)
    assert outcome.stopped_early == (
        "stopped after attempt 3: the same failure of the agent 3 times in a row "
        "(the call ended by agent_hangup)"
    )
    assert [each.stopped_early for each in outcome.attempts[:2]] == [None, None]
    assert outcome.attempts[2].stopped_early == outcome.stopped_early


async def test_with_three_attempts_nothing_is_stopped_early(world: World) -> None:
    world.scripts["a"] = [HANGUP]

    outcome = await world.settle(A, max_attempts=3)

    assert (outcome.attempts_made, outcome.stopped_early) == (3, None)
    assert world.journal(A)[-1]["reason"] == "its 3 attempts are used up"


async def test_another_failure_in_between_begins_the_count_anew(world: World) -> None:
    world.scripts["a"] = [HANGUP, HANGUP, OTHER_HANGUP, HANGUP, HANGUP, GOOD]

    outcome = await world.settle(A, max_attempts=10)

    assert outcome.accepted_attempt == 6


async def test_the_same_failures_of_an_earlier_invocation_do_not_count(world: World) -> None:
    world.scripts["a"] = [HANGUP]
    await world.settle(A, max_attempts=2)

    outcome = await world.settle(A, max_attempts=10)

    assert outcome.attempts_made == 3


async def test_badly_played_calls_into_the_limit_end_the_tries_once_a5_has_its_number(
    world: World,
) -> None:
    world.scripts["a"] = [BAD_TIMEOUT]

    outcome = await world.settle(A, time_limited=5, max_attempts=10)

    assert outcome.attempts_made == 5
    assert outcome.stopped_early is not None
    assert outcome.stopped_early.startswith("stopped after attempt 5: the same failure")


async def test_the_early_stop_is_told_by_the_summary_and_the_record(world: World) -> None:
    world.scripts["a"] = [HANGUP]
    outcome = await world.settle(A, max_attempts=10)

    summary = evaluation_summary([read_task_state(world.run_directory, A)], [])
    record = record_summary(world.run_directory, A)

    assert summary["final_failures"]["a"]["stopped_early"] == outcome.stopped_early
    assert [each.stopped_early for each in record.attempts] == [None, None, outcome.stopped_early]


def test_numbers_and_identifiers_do_not_make_another_failure() -> None:
    first = PastAttempt(
        1,
        "run",
        outcome=Outcome.NOT_FINISHED,
        cause=Cause.TRANSPORT,
        reason="Port 8123 closed after 3.5 s (call 0f8fad5b-d9cb-469f-a165-70867728950e)",
    )
    second = replace(
        first, reason="port 9001 closed  after 12 s (call 7c9e6679-7425-40de-944b-e07fc1f90ae7)"
    )
    third = replace(first, reason="port 9001 refused")

    assert signature(first) == signature(second) != signature(third)


async def test_a_run_that_was_killed_goes_on_with_what_is_left_of_the_attempts(
    world: World,
) -> None:
    world.scripts["a"] = [HANGUP, BAD_CALLER, HANGUP]
    world.held["a", 3] = asyncio.Event()
    running = asyncio.create_task(world.run(A))
    await until(lambda: ("a", 3) in world.went_live)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    world.held.clear()

    outcome = await world.settle(A)

    assert (outcome.accepted, outcome.attempts_made) == (False, 1)
    assert [each.interrupted for each in outcome.attempts] == [False, False, True, False]
    assert (await world.settle(A)).attempts_made == 3


async def test_a_kill_before_giving_up_was_recorded_costs_no_further_call(world: World) -> None:
    world.scripts["a"] = [HANGUP]
    await world.settle(A)
    journal = world.run_directory.journal(A)
    *lines, gave_up = journal.path.read_bytes().splitlines(keepends=True)
    assert b"gave_up" in gave_up
    journal.path.write_bytes(b"".join(lines))

    outcome = await world.settle(A)

    assert (outcome.accepted, outcome.attempts_made) == (False, 0)
    assert world.journal(A)[-1]["event"] == "gave_up"


async def test_attempts_under_other_settings_use_up_nothing(world: World) -> None:
    world.scripts["a"] = [BAD_CALLER, HANGUP]
    world.judge_outages["a"] = 3
    await world.settle(A, max_attempts=1)
    world.fingerprint = "other settings"

    outcome = await world.settle(A, max_attempts=3)

    assert outcome.attempts_made == 3


async def test_force_begins_a_new_try(world: World) -> None:
    world.scripts["a"] = [BAD_CALLER, GOOD]
    world.judge_outages["a"] = 3
    await world.settle(A, max_attempts=1)

    outcome = await world.settle(A, max_attempts=1, mode=AttemptMode.FORCE)

    assert outcome.acceptance is Acceptance.VALIDATED
    assert outcome.accepted_attempt == 2


async def test_adopted_attempts_use_up_nothing(world: World) -> None:
    for number in (1, 2, 3):
        adopted = {"attempt": number, "run_id": "eva", "fingerprint": ADOPTED_FINGERPRINT}
        for event in (
            {"event": "started"},
            {"event": "ended", "ended_reason": "agent_hangup"},
            {"event": "judged", "outcome": "not_finished", "cause": "agent", "reason": "hung up"},
        ):
            world.run_directory.journal(A).append({**event, **adopted})

    outcome = await world.settle(A, max_attempts=1)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (4, 1)
