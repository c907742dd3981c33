"""Attempts, their numbers and archives, classification and causes (A2, A3, A4, A7)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from scripted_world import (
    BAD_CALLER,
    GOOD,
    HANGUP,
    TIMEOUT,
    Call,
    Listener,
    World,
    read_result,
    task,
)

from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.errors import ConfigurationError, TransportError

A = task("a")
B = task("b")


async def test_accepts_a_good_conversation_at_the_first_attempt(world: World) -> None:
    outcome = await world.settle(A)

    assert outcome.acceptance is Acceptance.VALIDATED
    assert (outcome.accepted_attempt, outcome.attempts_made, outcome.reused) == (1, 1, False)
    assert outcome.directory == world.root / "records" / "a"
    assert outcome.metrics is not None
    assert outcome.metrics["task_completion"].score == 1.0
    assert [(each.outcome, each.cause) for each in outcome.attempts] == [(Outcome.PASSED, None)]
    assert world.history(A) == [
        ("started", 1),
        ("ended", 1),
        ("judged", 1),
        ("accepted", 1),
        ("metrics_computed", 1),
    ]


async def test_the_journal_says_who_wrote_it_and_when_in_utc(world: World) -> None:
    await world.settle(A)

    [started, *_] = world.run_directory.journal(A).read()

    assert started["run_id"] == "run-1"
    assert started["fingerprint"] == "same settings"
    assert started["pid"] > 0
    assert started["host"]
    assert started["time"].endswith("Z")


async def test_calls_again_until_a_conversation_is_valid(world: World) -> None:
    world.scripts["a"] = [HANGUP, BAD_CALLER, GOOD]

    outcome = await world.settle(A)

    assert [(each.number, each.outcome) for each in outcome.attempts] == [
        (1, Outcome.NOT_FINISHED),
        (2, Outcome.VALIDATION_FAILED),
        (3, Outcome.PASSED),
    ]
    assert world.record_directories() == ["a", "a_failed_attempt_1", "a_failed_attempt_2"]
    assert world.current_call(A) == "a#3"
    assert world.archived_call(A, 1) == "a#1"
    assert [each.directory.name for each in outcome.attempts] == [
        "a_failed_attempt_1",
        "a_failed_attempt_2",
        "a",
    ]


async def test_a_task_that_finally_fails_leaves_only_archives(world: World) -> None:
    world.scripts["a"] = [HANGUP]

    outcome = await world.settle(A, max_attempts=2)

    assert not outcome.accepted
    assert (outcome.directory, outcome.metrics, outcome.attempts_made) == (None, None, 2)
    assert world.record_directories() == ["a_failed_attempt_1", "a_failed_attempt_2"]
    assert world.scored == []


async def test_the_last_attempt_is_judged_like_any_other(world: World) -> None:
    world.scripts["a"] = [HANGUP, BAD_CALLER]

    outcome = await world.settle(A, max_attempts=2)

    assert not outcome.accepted
    assert world.judged[-1] == ("a", "a#2", False)


async def test_attempt_numbers_go_on_in_a_rerun_and_the_budget_starts_anew(world: World) -> None:
    world.scripts["a"] = [HANGUP]
    await world.settle(A)

    outcome = await world.settle(A)

    assert world.calls == [("a", number) for number in range(1, 7)]
    assert outcome.attempts_made == 3
    assert [each.number for each in outcome.attempts] == [1, 2, 3, 4, 5, 6]
    assert world.record_directories() == [f"a_failed_attempt_{number}" for number in range(1, 7)]
    assert [world.archived_call(A, number) for number in range(1, 7)] == [
        f"a#{number}" for number in range(1, 7)
    ]


async def test_archives_of_trials_lie_beside_the_trial(world: World) -> None:
    first, second = task("a", trial=0), task("a", trial=1)
    world.scripts = {first.id: [HANGUP, GOOD]}

    outcomes = await world.run(first, second)

    assert all(outcome.accepted for outcome in outcomes)
    assert world.record_directories() == [
        "a",
        "a/trial_0",
        "a/trial_0_failed_attempt_1",
        "a/trial_1",
    ]


async def test_never_reuses_the_number_of_an_archive_the_journal_has_lost(world: World) -> None:
    stray = world.run_directory.archive_directory(A, 1)
    stray.mkdir(parents=True)
    (stray / "keep.txt").write_text("mine", encoding="utf-8")
    world.scripts["a"] = [HANGUP, GOOD]

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 3
    assert [path.name for path in stray.iterdir()] == ["keep.txt"]
    assert world.archived_call(A, 2) == "a#2"


@pytest.mark.parametrize(
    ("call", "outcome", "cause"),
    [
        (HANGUP, Outcome.NOT_FINISHED, Cause.AGENT),
        (Call(EndReason.TRANSPORT_ERROR), Outcome.NOT_FINISHED, Cause.TRANSPORT),
        (Call(EndReason.INACTIVITY_TIMEOUT), Outcome.NOT_FINISHED, Cause.CALLER),
        (Call(EndReason.ERROR), Outcome.NOT_FINISHED, Cause.HARNESS),
        (Call(EndReason.ERROR, cause="provider"), Outcome.NOT_FINISHED, Cause.PROVIDER),
        (TIMEOUT, Outcome.TIME_LIMIT_EXCEEDED, Cause.AGENT),
        (BAD_CALLER, Outcome.VALIDATION_FAILED, Cause.CALLER),
        (Call(raises=RuntimeError("boom")), Outcome.NOT_FINISHED, Cause.HARNESS),
        (Call(raises=TransportError("gone")), Outcome.NOT_FINISHED, Cause.TRANSPORT),
    ],
)
async def test_names_how_an_attempt_ended_and_who_is_to_blame(
    world: World, call: Call, outcome: Outcome, cause: Cause
) -> None:
    world.scripts["a"] = [call]

    settled = await world.settle(A, max_attempts=1, time_limited=0)

    [attempt] = settled.attempts
    assert (attempt.outcome, attempt.cause) == (outcome, cause)
    assert attempt.reason


async def test_a_failed_validation_is_told_with_metrics_scores_and_details(world: World) -> None:
    world.scripts["a"] = [BAD_CALLER]

    settled = await world.settle(A, max_attempts=1)

    [attempt] = settled.attempts
    assert attempt.reason == "failed user_behavioral_fidelity (it said something else)"
    assert attempt.validation is not None
    assert attempt.validation.scores["user_behavioral_fidelity"].score == 0.0


async def test_an_exception_in_one_call_is_that_tasks_outcome_only(world: World) -> None:
    world.scripts["a"] = [Call(raises=RuntimeError("boom"), leaves_result=False)]

    failed, good = await world.run(A, B, max_attempts=1)

    assert good.accepted
    assert failed.attempts[0].reason == "the call failed: RuntimeError: boom"
    judged = next(entry for entry in world.journal(A) if entry["event"] == "judged")
    assert judged["error"] == "RuntimeError: boom"
    assert world.judged == [("b", "b#1", False)]


async def test_a_call_that_raised_without_a_result_gets_one(world: World) -> None:
    world.scripts["a"] = [Call(raises=RuntimeError("boom"), leaves_result=False)]

    await world.settle(A, max_attempts=1)

    result = read_result(world.run_directory.archive_directory(A, 1))
    assert result["completed"] is False
    assert result["conversation_ended_reason"] == "error"
    assert (result["task_id"], result["attempt"]) == ("a", 1)
    assert result["error_details"]["error_type"] == "RuntimeError"
    assert result["error_details"]["original_error"] == "boom"
    assert "place_call" in result["error_details"]["stack_trace"]


async def test_a_call_that_raises_before_going_live_is_an_attempt_all_the_same(
    world: World,
) -> None:
    broken = Call(raises=RuntimeError("no voice"), raises_before_live=True, leaves_result=False)
    world.scripts["a"] = [broken, GOOD]

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert world.history(A)[:4] == [("started", 1), ("ended", 1), ("judged", 1), ("archived", 1)]


async def test_a_result_that_only_came_back_is_written(world: World) -> None:
    world.scripts["a"] = [Call(leaves_result=False)]

    outcome = await world.settle(A)

    assert outcome.accepted
    assert outcome.directory is not None
    assert read_result(outcome.directory)["conversation_ended_reason"] == "goodbye"


async def test_an_exception_in_the_validation_fails_the_attempt_of_that_task_only(
    world: World,
) -> None:
    world.judge_errors["a"] = ValueError("damaged artefact")

    failed, good = await world.run(A, B, max_attempts=2)

    assert good.accepted
    assert [(each.outcome, each.cause) for each in failed.attempts] == [
        (Outcome.NOT_FINISHED, Cause.HARNESS)
    ] * 2
    assert failed.attempts[0].reason == "validation failed: ValueError: damaged artefact"


async def test_a_call_that_is_cancelled_from_within_is_a_failed_attempt(world: World) -> None:
    world.scripts["a"] = [Call(raises=asyncio.CancelledError()), GOOD]

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert outcome.attempts[0].cause is Cause.HARNESS


async def test_reports_progress_and_survives_a_listener_that_breaks(world: World) -> None:
    world.scripts["a"] = [HANGUP, GOOD]
    world.listener = Listener(breaks=True)

    await world.settle(A)

    assert world.listener.told == [
        ("started", "a", 1),
        ("ended", "a", 1),
        ("started", "a", 2),
        ("ended", "a", 2),
        ("settled", "a", None),
    ]
    assert world.listener.summaries[0].directory.name == "a_failed_attempt_1"


async def test_refuses_the_same_task_twice(world: World) -> None:
    with pytest.raises(ValueError, match="more than once: a"):
        await world.run(A, A)


async def test_refuses_to_mix_a_single_trial_with_several(world: World) -> None:
    await world.settle(A)

    with pytest.raises(ConfigurationError, match=r"record 'a'.*a single trial before"):
        await world.run(task("a", trial=0), task("a", trial=1))


async def test_yields_nothing_for_no_tasks(world: World) -> None:
    assert await world.run() == []


async def test_a_call_takes_the_time_it_was_live_not_the_time_it_waited(world: World) -> None:
    world.scripts["a"] = [Call(raises=RuntimeError("boom"), leaves_result=False)]

    outcome = await world.settle(A, max_attempts=1)

    assert timedelta(seconds=outcome.attempts[0].duration_seconds) < timedelta(seconds=1)
