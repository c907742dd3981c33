"""One task on one page."""

from __future__ import annotations

from scripted_world import BAD_CALLER, GOOD, HANGUP, World, task

from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.metrics.composites import Composite, Composites
from orchestrator_assets.summary.record_summary import record_summary
from orchestrator_assets.summary.task_state import TaskStatus

A = task("a/b", trial=0)


async def test_tells_of_an_accepted_task(world: World) -> None:
    world.scripts[A.id] = [BAD_CALLER, GOOD]
    await world.run(A)

    summary = record_summary(world.run_directory, A)

    assert (summary.record_id, summary.task_id, summary.key, summary.trial) == (
        "a/b",
        "a/b/trial_0",
        "a@2Fb:trial_0",
        0,
    )
    assert (summary.status, summary.acceptance, summary.accepted_attempt) == (
        TaskStatus.ACCEPTED,
        Acceptance.VALIDATED,
        2,
    )
    assert (summary.ended_reason, summary.duration_seconds) == (EndReason.GOODBYE, 10.0)
    assert summary.directory == "records/a@2Fb/trial_0"
    assert summary.scores["task_completion"].score == 1.0
    assert [(row.attempt, row.outcome, row.cause, row.directory) for row in summary.attempts] == [
        (1, Outcome.VALIDATION_FAILED, Cause.CALLER, "records/a@2Fb/trial_0_failed_attempt_1"),
        (2, Outcome.PASSED, None, "records/a@2Fb/trial_0"),
    ]
    assert summary.attempts[0].validation is not None
    assert summary.model_dump(mode="json")["attempts"][0]["reason"].startswith("failed user_")


async def test_shows_the_composites_with_their_evidence(world: World) -> None:
    await world.run(A)
    composites = Composites({"good": Composite(all={"task_completion": 1.0})})

    good = record_summary(world.run_directory, A, composites).composites["good"]

    assert good.score == 1.0
    assert good.details["components"] == {"task_completion": 1.0}
    assert record_summary(world.run_directory, A).composites == {}


async def test_shows_the_last_attempt_of_a_failed_task(world: World) -> None:
    world.scripts[A.id] = [HANGUP]
    await world.run(A, max_attempts=2)

    summary = record_summary(world.run_directory, A)

    assert (summary.status, summary.acceptance, summary.scores) == (TaskStatus.FAILED, None, {})
    assert summary.directory == "records/a@2Fb/trial_0_failed_attempt_2"
    assert summary.ended_reason is EndReason.AGENT_HANGUP


def test_tells_of_a_task_nobody_has_tried(world: World) -> None:
    summary = record_summary(world.run_directory, A)

    assert (summary.status, summary.attempts, summary.directory) == (TaskStatus.PENDING, [], None)
