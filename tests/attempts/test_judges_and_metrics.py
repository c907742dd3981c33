"""Judges that give no answer (A4), and metrics (A8)."""

from __future__ import annotations

import asyncio

from scripted_world import BAD_CALLER, GOOD, HANGUP, TIMEOUT, World, task, until

from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome
from orchestrator_assets.attempts.protocols import AttemptMode, JudgeRetries
from orchestrator_assets.errors import SpeechEngineError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.scores import merge_scores

A = task("a")
B = task("b")


async def test_a_judge_that_errors_is_asked_again_and_the_call_not_repeated(world: World) -> None:
    world.judge_outages["a"] = 2

    outcome = await world.settle(A)

    assert outcome.acceptance is Acceptance.VALIDATED
    assert len(world.judged) == 3
    assert world.waits == [1.0, 2.0]
    assert world.calls == [("a", 1)]


async def test_a_task_whose_judge_stays_silent_ends_unjudged_with_its_call_in_place(
    world: World,
) -> None:
    world.judge_outages["a"] = 3

    outcome = await world.settle(A)

    assert not outcome.accepted
    assert [(each.outcome, each.cause) for each in outcome.attempts] == [
        (Outcome.UNJUDGED, Cause.JUDGE)
    ]
    assert "no answer" in outcome.attempts[0].reason
    assert world.calls == [("a", 1)]
    assert world.record_directories() == ["a"]


async def test_a_later_invocation_judges_the_unjudged_call_without_calling(world: World) -> None:
    world.judge_outages["a"] = 3
    await world.settle(A)

    outcome = await world.settle(A)

    assert (outcome.accepted, outcome.attempts_made) == (True, 0)
    assert world.calls == [("a", 1)]
    assert [each.outcome for each in outcome.attempts] == [Outcome.PASSED]


async def test_a_late_verdict_against_an_unjudged_call_leads_to_the_next_attempt(
    world: World,
) -> None:
    world.scripts["a"] = [BAD_CALLER, GOOD]
    world.judge_outages["a"] = 3
    await world.settle(A)

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert world.archived_call(A, 1) == "a#1"


async def test_a_judge_without_its_speech_engine_leaves_the_call_unjudged(world: World) -> None:
    world.judge_errors["a"] = SpeechEngineError("not installed")

    outcome = await world.settle(A)

    assert outcome.attempts[0].outcome is Outcome.UNJUDGED
    assert world.calls == [("a", 1)]


async def test_a_judge_that_takes_too_long_is_asked_again_and_the_call_not_repeated(
    world: World,
) -> None:
    world.held_judging["a"] = asyncio.Event()
    impatient = JudgeRetries(timeout_seconds=0, tries=2)

    async with asyncio.timeout(5):
        unjudged = await world.settle(A, judge_retries=impatient)

    assert len(world.judged) == 2
    assert [(each.outcome, each.cause) for each in unjudged.attempts] == [
        (Outcome.UNJUDGED, Cause.JUDGE)
    ]
    assert unjudged.attempts[0].reason == "no answer from the judge within 0 s"
    world.held_judging["a"].set()
    assert (await world.settle(A)).accepted
    assert world.calls == [("a", 1)]


async def test_no_judge_spends_its_time_in_a_queue(world: World) -> None:
    world.held_judging = {"a": asyncio.Event(), "b": asyncio.Event()}
    running = asyncio.create_task(world.run(A, B, judge_retries=JudgeRetries(at_once=1)))
    await until(lambda: ("ended", 1) in world.history(A) and ("ended", 1) in world.history(B))
    await until(lambda: bool(world.judged))
    await asyncio.sleep(0.02)

    assert len(world.judged) == 1
    for event in world.held_judging.values():
        event.set()
    assert all(outcome.accepted for outcome in await running)


async def test_an_unfinished_call_needs_no_answer_from_the_judge(world: World) -> None:
    world.scripts["a"] = [HANGUP, GOOD]
    world.judge_outages["a"] = 0

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert world.waits == []


async def test_a_time_limited_call_with_a_silent_judge_is_not_repeated(world: World) -> None:
    world.scripts["a"] = [TIMEOUT]
    world.judge_outages["a"] = 3

    unjudged = await world.settle(A)
    judged = await world.settle(A)

    assert unjudged.attempts[0].outcome is Outcome.UNJUDGED
    assert judged.acceptance is Acceptance.TIME_LIMIT
    assert world.calls == [("a", 1)]


async def test_a_failing_metric_never_costs_a_call(world: World) -> None:
    world.metric_errors["a"] = RuntimeError("judge key")

    failed, good = await world.run(A, B)

    assert failed.accepted
    assert failed.metrics is not None
    assert not failed.metrics
    assert failed.error == "metrics failed: RuntimeError: judge key"
    assert good.metrics
    assert sorted(world.calls) == [("a", 1), ("b", 1)]


async def test_metrics_that_failed_are_computed_in_the_next_invocation(world: World) -> None:
    world.metric_errors["a"] = RuntimeError("judge key")
    await world.settle(A)
    world.metric_errors.clear()

    outcome = await world.settle(A)

    assert (outcome.reused, outcome.attempts_made) == (True, 0)
    assert outcome.metrics is not None
    assert outcome.metrics["task_completion"].score == 1.0


async def test_metrics_that_are_missing_on_disk_are_computed_for_a_reused_call(
    world: World,
) -> None:
    outcome = await world.settle(A)
    assert outcome.directory is not None
    (outcome.directory / "metrics.json").unlink()

    await world.settle(A)

    assert world.scored == [("a", "a#1"), ("a", "a#1")]


async def test_a_metric_that_was_added_to_the_evaluation_is_computed_without_a_call(
    world: World,
) -> None:
    await world.settle(A, metric_names=["task_completion"])
    await world.settle(A, metric_names=["task_completion"])
    assert len(world.scored) == 1

    await world.settle(A, metric_names=["task_completion", "response_latency"])

    assert len(world.scored) == 2
    assert world.calls == [("a", 1)]


async def test_metrics_overlap_with_the_calls_of_others(world: World) -> None:
    world.held_metrics["a"] = asyncio.Event()
    world.held_preparing["b"] = asyncio.Event()
    running = asyncio.create_task(world.run(A, B, concurrent=1))
    await until(lambda: world.scored == [("a", "a#1")])

    world.held_preparing["b"].set()
    await until(lambda: world.scored == [("a", "a#1"), ("b", "b#1")])
    world.held_metrics["a"].set()

    first, second = await running
    assert first.metrics
    assert second.metrics


async def test_a_task_settles_after_its_metrics(world: World) -> None:
    world.held_metrics["a"] = asyncio.Event()
    settled: list[str] = []

    async def consume() -> None:
        async for outcome in world.attempts(A, B):
            settled.append(outcome.task.id)
            if outcome.task.id == "b":
                world.held_metrics["a"].set()

    await asyncio.wait_for(consume(), 5)

    assert settled == ["b", "a"]


async def test_a_score_that_is_an_error_is_computed_again_by_the_next_invocation(
    world: World,
) -> None:
    outcome = await world.settle(A, metric_names=["task_completion"])
    assert outcome.directory is not None
    merge_scores(
        outcome.directory,
        "a",
        {"task_completion": MetricScore(name="task_completion", error="judge key")},
    )

    again = await world.settle(A, metric_names=["task_completion"])

    assert again.metrics is not None
    assert again.metrics["task_completion"].error is None
    assert world.calls == [("a", 1)]


async def test_scores_that_were_not_computed_stay_in_the_outcome_and_the_journal(
    world: World,
) -> None:
    outcome = await world.settle(A, metric_names=["task_completion"])
    assert outcome.directory is not None
    other = MetricScore(name="politeness", score=3.0, normalized_score=0.5)
    merge_scores(outcome.directory, "a", {other.name: other})

    again = await world.settle(A, mode=AttemptMode.METRICS_ONLY)

    assert again.metrics is not None
    assert again.metrics["politeness"] == other
    assert world.journal(A)[-1]["scores"] == {"task_completion": 1.0, "politeness": 0.5}


async def test_an_invocation_that_computes_nothing_leaves_the_journal_as_it_is(
    world: World,
) -> None:
    outcome = await world.settle(A, metric_names=["task_completion"])
    before = world.journal(A)
    world.computes_nothing = True

    again = await world.settle(A, mode=AttemptMode.METRICS_ONLY)

    assert again.metrics == outcome.metrics
    assert world.journal(A) == before


async def test_a_call_of_this_invocation_is_judged_and_scored_once(world: World) -> None:
    await world.run(A, B, metric_names=["task_completion"])

    assert sorted(world.judged) == [("a", "a#1", False), ("b", "b#1", False)]
    assert sorted(world.scored) == [("a", "a#1"), ("b", "b#1")]


async def test_time_limited_calls_are_judged_side_by_side(world: World) -> None:
    world.scripts = {"a": [TIMEOUT], "b": [TIMEOUT]}
    world.held_judging = {"a": asyncio.Event(), "b": asyncio.Event()}
    running = asyncio.create_task(world.run(A, B))
    await until(lambda: len(world.judged) == 2)
    for event in world.held_judging.values():
        event.set()

    assert all(outcome.accepted for outcome in await running)


async def test_only_so_many_waiting_conversations_are_judged_at_once(world: World) -> None:
    tasks = [task(f"t{number}") for number in range(30)]
    world.judge_outages.update({each.id: 3 for each in tasks})
    await world.run(*tasks)
    world.judged.clear()
    world.held_judging = {each.id: asyncio.Event() for each in tasks}
    running = asyncio.create_task(world.run(*tasks, concurrent=2))
    await until(lambda: len(world.judged) == 8)
    await asyncio.sleep(0.02)

    assert len(world.judged) == 8
    for event in world.held_judging.values():
        event.set()
    assert all(outcome.accepted for outcome in await running)
