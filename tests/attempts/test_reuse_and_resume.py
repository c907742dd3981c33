"""What is on disk decides: reuse, crashes, modes (A2, A7, A10)."""

from __future__ import annotations

import json
import shutil

import pytest
from scripted_world import BAD_CALLER, GOOD, HANGUP, TIMEOUT, Call, World, read_result, task

from orchestrator_assets.attempts.loop import AttemptMode
from orchestrator_assets.attempts.outcomes import Acceptance, Outcome
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.summary.writing import write_summaries

A = task("a")
B = task("b")


def crash_after(world: World, one: object, event: str) -> None:
    """Cut the journal off after the last entry of this kind, as a kill would have."""
    journal = world.run_directory.journal(one)  # type: ignore[arg-type]
    entries = journal.read()
    last = max(index for index, entry in enumerate(entries) if entry["event"] == event)
    lines = journal.path.read_bytes().split(b"\n")[: last + 1]
    journal.path.write_bytes(b"\n".join(lines) + b"\n")


async def test_reuses_an_accepted_conversation_without_calling(world: World) -> None:
    await world.settle(A)
    before = world.tree()

    outcome = await world.settle(A)

    assert (outcome.reused, outcome.accepted, outcome.attempts_made) == (True, True, 0)
    assert outcome.metrics is not None
    assert outcome.metrics["task_completion"].score == 1.0
    assert len(world.calls) == len(world.judged) == len(world.scored) == 1
    assert world.tree() == before


async def test_calls_again_when_the_settings_of_the_call_have_changed(world: World) -> None:
    await world.settle(A)
    world.fingerprint = "other settings"

    outcome = await world.settle(A)

    assert (outcome.accepted_attempt, outcome.reused) == (2, False)
    assert world.archived_call(A, 1) == "a#1"
    assert world.judged == [("a", "a#1", False), ("a", "a#2", False)]


async def test_a_success_whose_directory_was_deleted_is_called_again(world: World) -> None:
    await world.settle(A)
    shutil.rmtree(world.run_directory.task_directory(A))

    outcome = await world.settle(A)

    assert (outcome.accepted_attempt, outcome.attempts_made) == (2, 1)


async def test_force_archives_an_accepted_conversation_and_calls_again(world: World) -> None:
    await world.settle(A)

    outcome = await world.settle(A, mode=AttemptMode.FORCE)

    assert (outcome.accepted_attempt, outcome.reused) == (2, False)
    assert world.archived_call(A, 1) == "a#1"
    assert world.current_call(A) == "a#2"


async def test_force_never_brings_back_what_an_earlier_invocation_recorded(world: World) -> None:
    world.scripts["a"] = [TIMEOUT, HANGUP]
    await world.settle(A)

    outcome = await world.settle(A, mode=AttemptMode.FORCE)

    assert not outcome.accepted
    assert world.record_directories() == [f"a_failed_attempt_{number}" for number in range(1, 5)]


async def test_an_attempt_that_was_killed_is_archived_under_its_own_number(world: World) -> None:
    directory = world.run_directory.task_directory(A)
    directory.mkdir(parents=True)
    (directory / "audio_user.wav").write_bytes(b"half a")
    world.run_directory.journal(A).append(
        {"event": "started", "attempt": 1, "run_id": "killed", "fingerprint": "same settings"}
    )

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    archive = world.run_directory.archive_directory(A, 1)
    assert (archive / "audio_user.wav").read_bytes() == b"half a"
    assert [(each.number, each.interrupted) for each in outcome.attempts] == [
        (1, True),
        (2, False),
    ]


async def test_a_killed_attempt_costs_no_budget(world: World) -> None:
    world.run_directory.journal(A).append({"event": "started", "attempt": 1, "run_id": "killed"})
    world.scripts["a"] = [HANGUP]

    outcome = await world.settle(A, max_attempts=2)

    assert world.calls == [("a", 2), ("a", 3)]
    assert outcome.attempts_made == 2


async def test_a_torn_journal_line_is_no_obstacle(world: World) -> None:
    world.scripts["a"] = [HANGUP]
    await world.settle(A, max_attempts=1)
    journal = world.run_directory.journal(A)
    with journal.path.open("ab") as file:
        file.write(b'{"event": "started", "att')

    outcome = await world.settle(A, max_attempts=1)

    assert [each.number for each in outcome.attempts] == [1, 2]
    assert all(json.loads(line) for line in journal.path.read_text().splitlines())


async def test_a_damaged_journal_is_that_tasks_error_and_names_the_line(world: World) -> None:
    await world.settle(A)
    journal = world.run_directory.journal(A)
    journal.path.write_bytes(b"garbage\n" + journal.path.read_bytes())

    broken, good = await world.run(A, B)

    assert good.accepted
    assert not broken.accepted
    assert broken.error is not None
    assert "a.jsonl, line 1" in broken.error
    assert sorted(world.calls) == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("last_event", ["started", "ended"])
async def test_a_call_that_ended_before_the_kill_is_judged_not_repeated(
    world: World, last_event: str
) -> None:
    await world.settle(A)
    crash_after(world, A, last_event)

    outcome = await world.settle(A)

    assert outcome.acceptance is Acceptance.VALIDATED
    assert (outcome.reused, outcome.attempts_made) == (True, 0)
    assert world.calls == [("a", 1)]
    assert [each.number for each in outcome.attempts] == [1]
    assert outcome.attempts[0].duration_seconds == 10.0
    assert world.history(A).count(("ended", 1)) == 1


async def test_a_kill_between_verdict_and_acceptance_repeats_neither(world: World) -> None:
    await world.settle(A)
    crash_after(world, A, "judged")

    outcome = await world.settle(A)

    assert outcome.accepted
    assert len(world.calls) == len(world.judged) == 1


async def test_a_kill_between_verdict_and_archive_loses_nothing(world: World) -> None:
    world.scripts["a"] = [HANGUP, GOOD]
    await world.settle(A, max_attempts=1)
    crash_after(world, A, "judged")
    world.run_directory.archive_directory(A, 1).rename(world.run_directory.task_directory(A))

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert world.archived_call(A, 1) == "a#1"
    assert len(world.judged) == 2


async def test_a_kill_between_saying_archived_and_moving_loses_nothing(world: World) -> None:
    world.scripts["a"] = [HANGUP, GOOD]
    await world.settle(A, max_attempts=1)
    world.run_directory.archive_directory(A, 1).rename(world.run_directory.task_directory(A))

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert world.record_directories() == ["a", "a_failed_attempt_1"]


async def test_a_journal_that_was_lost_altogether_costs_no_call(world: World) -> None:
    await world.settle(A)
    world.run_directory.journal(A).path.unlink()

    outcome = await world.settle(A)

    assert (outcome.accepted, outcome.accepted_attempt) == (True, 1)
    assert world.calls == [("a", 1)]


async def test_what_no_attempt_left_is_kept_and_not_judged(world: World) -> None:
    directory = world.run_directory.task_directory(A)
    directory.mkdir(parents=True)
    (directory / "result.json").write_text('{"record_id": "a"}', encoding="utf-8")

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    archive = world.run_directory.archive_directory(A, 1)
    assert (archive / "result.json").read_text(encoding="utf-8") == '{"record_id": "a"}'


async def test_a_damaged_result_is_archived_and_the_call_repeated(world: World) -> None:
    await world.settle(A)
    directory = world.run_directory.task_directory(A)
    (directory / "result.json").write_text('{"record_', encoding="utf-8")

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert world.archived_call(A, 1) == "a#1"


async def test_zero_attempts_judges_what_is_there_calls_nobody_and_moves_nothing(
    world: World,
) -> None:
    world.scripts = {"a": [GOOD], "b": [BAD_CALLER]}
    world.judge_outages = {"a": 9, "b": 9}  # type: ignore[assignment]
    await world.run(A, B)
    world.judge_outages.clear()
    world.judge_outages.update({"a": 0, "b": 0})
    calls, directories = list(world.calls), world.record_directories()

    passed, failed = await world.run(A, B, max_attempts=0)

    assert (passed.acceptance, passed.attempts_made) == (Acceptance.VALIDATED, 0)
    assert passed.metrics is not None
    assert not failed.accepted
    assert failed.attempts[0].outcome is Outcome.VALIDATION_FAILED
    assert world.calls == calls
    assert world.record_directories() == directories == ["a", "b"]


async def test_zero_attempts_twice_tells_the_same(world: World) -> None:
    world.scripts["a"] = [BAD_CALLER]
    await world.settle(A, max_attempts=1)

    first = await world.settle(A, max_attempts=0)
    second = await world.settle(A, max_attempts=0)

    assert first == second
    assert [each.outcome for each in first.attempts] == [Outcome.VALIDATION_FAILED]
    assert world.record_directories() == ["a_failed_attempt_1"]


async def test_zero_attempts_leaves_an_unfinished_attempt_alone(world: World) -> None:
    directory = world.run_directory.task_directory(A)
    directory.mkdir(parents=True)
    (directory / "audio_user.wav").write_bytes(b"half a")

    outcome = await world.settle(A, max_attempts=0)

    assert not outcome.accepted
    assert world.record_directories() == ["a"]
    assert world.judged == []


async def test_validate_only_judges_accepted_conversations_again(world: World) -> None:
    await world.settle(A)

    outcome = await world.settle(A, mode=AttemptMode.VALIDATE_ONLY)

    assert outcome.accepted
    assert [call for _, call, _ in world.judged] == ["a#1", "a#1"]
    assert len(world.calls) == len(world.scored) == 1


async def test_validate_only_takes_back_an_acceptance_but_moves_nothing(world: World) -> None:
    await world.settle(A)
    plan = world.run_directory.task_directory(A) / "plan.json"
    plan.write_text(
        json.dumps({**json.loads(plan.read_text()), "fails": ["user_behavioral_fidelity"]})
    )

    outcome = await world.settle(A, mode=AttemptMode.VALIDATE_ONLY)

    assert not outcome.accepted
    assert world.record_directories() == ["a"]
    rerun = await world.settle(A)
    assert rerun.accepted_attempt == 2
    assert world.archived_call(A, 1) == "a#1"


async def test_validate_only_keeps_an_acceptance_when_the_judge_gives_no_answer(
    world: World,
) -> None:
    await world.settle(A)
    world.judge_outages["a"] = 9

    outcome = await world.settle(A, mode=AttemptMode.VALIDATE_ONLY)

    assert outcome.accepted
    assert outcome.error is not None
    assert "no answer" in outcome.error


async def test_validate_only_spoils_no_conversation_by_a_fault_of_its_own(world: World) -> None:
    world.judge_outages["a"] = 9
    await world.settle(A)
    world.judge_outages["a"] = 0
    world.judge_errors["a"] = MemoryError("out of memory")

    broken = await world.settle(A, mode=AttemptMode.VALIDATE_ONLY)
    world.judge_errors.clear()
    judged = await world.settle(A)

    assert broken.error == "validation failed: MemoryError: out of memory"
    assert (judged.accepted, judged.attempts_made) == (True, 0)


async def test_validate_only_accepts_by_the_time_limit_rule_too(world: World) -> None:
    world.scripts["a"] = [TIMEOUT]
    world.judge_outages["a"] = 9
    await world.settle(A)
    world.judge_outages["a"] = 0

    outcome = await world.settle(A, mode=AttemptMode.VALIDATE_ONLY)

    assert outcome.acceptance is Acceptance.TIME_LIMIT
    assert outcome.directory is not None
    assert read_result(outcome.directory)["time_limit_accepted"] is True


async def test_metrics_only_scores_accepted_conversations_and_nothing_else(world: World) -> None:
    world.scripts["b"] = [HANGUP]
    await world.run(A, B, max_attempts=1)
    calls, judged = list(world.calls), list(world.judged)

    scored, failed = await world.run(A, B, mode=AttemptMode.METRICS_ONLY)

    assert scored.metrics is not None
    assert (failed.metrics, failed.accepted) == (None, False)
    assert world.scored == [("a", "a#1"), ("a", "a#1")]
    assert (world.calls, world.judged) == (calls, judged)


async def test_only_the_given_tasks_are_touched(world: World) -> None:
    world.scripts = {"a": [HANGUP], "b": [HANGUP]}
    await world.run(A, B, max_attempts=1)
    before = world.journal(B)

    await world.run(A, max_attempts=1)

    assert world.journal(B) == before


async def test_an_attempt_cancelled_mid_call_is_not_judged(world: World) -> None:
    directory = world.run_directory.task_directory(A)
    directory.mkdir(parents=True)
    world.leave_files(A, 1, directory, Call(EndReason.CANCELLED))
    journal = world.run_directory.journal(A)
    journal.append({"event": "started", "attempt": 1, "run_id": "stopped"})
    journal.append({"event": "cancelled", "attempt": 1, "run_id": "stopped"})

    outcome = await world.settle(A)

    assert outcome.accepted_attempt == 2
    assert world.judged == [("a", "a#2", False)]
    assert world.archived_call(A, 1) == "a#1"
    assert outcome.attempts[0].reason == "the run was stopped during the call"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff"])
async def test_damaged_summaries_and_scores_hinder_no_rerun_and_cost_no_call(
    world: World, damage: bytes
) -> None:
    await world.settle(A)
    write_summaries(world.run_directory, [A])
    for name in ("config.json", "evaluation_summary.json", "metrics_summary.json", "results.csv"):
        (world.root / name).write_bytes(damage)
    (world.run_directory.task_directory(A) / "metrics.json").write_bytes(damage)

    outcome = await world.settle(A, metric_names=["task_completion"])

    assert (outcome.reused, outcome.attempts_made) == (True, 0)
    assert outcome.metrics is not None
    assert outcome.metrics["task_completion"].error is None
    write_summaries(world.run_directory, [A])
    summary = json.loads(world.run_directory.evaluation_summary_path.read_text())
    assert summary["simulation"]["successful_record_ids"] == ["a"]


async def test_a_rejected_call_whose_journal_was_lost_is_judged_anew_not_passed(
    world: World,
) -> None:
    world.scripts["a"] = [HANGUP]
    await world.settle(A, max_attempts=1)
    archive = world.run_directory.archive_directory(A, 1)
    archive.rename(world.run_directory.task_directory(A))
    world.run_directory.journal(A).path.unlink()

    outcome = await world.settle(A, max_attempts=0)

    assert not outcome.accepted
    assert [each.outcome for each in outcome.attempts] == [Outcome.NOT_FINISHED]


async def test_a_data_set_that_shrinks_or_grows_touches_only_its_own_tasks(world: World) -> None:
    await world.run(A, B)
    kept = world.tree()

    await world.run(A)
    [_, new] = await world.run(A, task("c"))

    assert new.attempts_made == 1
    assert {name: content for name, content in world.tree().items() if name[0] != "c"} == kept
