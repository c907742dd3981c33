"""What a plan says of a run directory, against what a run then does with it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.metrics.selection import MetricSelection, ScoreChoice, StaleScore
from orchestrator_assets.metrics.task_completion import TaskCompletion
from orchestrator_assets.plan import AUDIO_BYTES_PER_SECOND, Plan, Step, TaskPlan, plan
from orchestrator_assets.store.run_directory import RunDirectory

RECORDS = [{"id": name, "turns": ["Hello.", "Goodbye."]} for name in ("first", "second", "third")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def evaluation_in(
    folder: Path, records: Sequence[dict[str, Any]] = RECORDS, **fields: Any
) -> Evaluation:
    path = write_evaluation(folder, ["placeholder"], **fields)
    evaluation = load_evaluation(path)
    evaluation.data_set.write_text(json.dumps(records), encoding="utf-8")
    return evaluation


def run(evaluation: Evaluation, calls: FakeCalls, mode: AttemptMode = AttemptMode.CALL) -> None:
    async def settle() -> None:
        tasks = evaluation.load_tasks()
        settling = calls.create_run(evaluation, tasks, mode=mode, run_id="run-1")
        async for _ in settling.outcomes():
            pass

    asyncio.run(settle())


def planned(evaluation: Evaluation, mode: AttemptMode = AttemptMode.CALL) -> Plan:
    return plan(evaluation, evaluation.load_tasks(), mode)


def steps(found: Plan) -> list[Step]:
    return [each.step for each in found.tasks]


def only(found: Plan, task_id: str) -> TaskPlan:
    return next(each for each in found.tasks if each.task.id == task_id)


def files_below(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_everything_is_called_the_first_time(folder: Path) -> None:
    evaluation = evaluation_in(folder)

    found = planned(evaluation)

    assert (found.calls, found.first_calls, found.calls_again) == (3, 3, 0)
    assert {each.because for each in found.tasks} == {"never called"}
    assert found.metrics == {"task_completion": 3}
    assert not found.stale
    assert not evaluation.run_directory.exists()


def test_what_was_accepted_is_reused_and_what_failed_is_called_again(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls({"second": [Attempt.MISSPOKEN]}))

    found = planned(evaluation)

    assert steps(found) == [Step.REUSE, Step.CALL, Step.REUSE]
    assert (found.first_calls, found.calls_again) == (0, 1)
    assert only(found, "second").because.startswith("attempt 2 validation_failed: ")
    assert found.metrics == {"task_completion": 1}


def test_a_run_would_leave_stale_scores_alone_and_says_which_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls({"second": [Attempt.MISSPOKEN]}))
    before = TaskCompletion.code_version
    monkeypatch.setattr(TaskCompletion, "code_version", "next")

    found = planned(evaluation)

    assert found.metrics == {"task_completion": 1}
    assert found.stale_scores == {StaleScore("task_completion", before, "next"): 2}
    assert only(found, "first").metrics == ()


def test_scores_of_accepted_conversations_are_planned_as_they_are_chosen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls({"second": [Attempt.MISSPOKEN]}))
    monkeypatch.setattr(TaskCompletion, "code_version", "next")
    expected = {
        ScoreChoice.LACKING: {},
        ScoreChoice.FAILED: {},
        ScoreChoice.OUTDATED: {"task_completion": 2},
        ScoreChoice.ALL: {"task_completion": 2},
    }

    for choice, metrics in expected.items():
        selection = MetricSelection(choice)
        tasks = evaluation.load_tasks()
        assert plan(evaluation, tasks, AttemptMode.METRICS_ONLY, selection).metrics == metrics


def test_planning_changes_no_file(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls({"second": [Attempt.MISSPOKEN]}))
    changed = evaluation.model_copy(update={"conversation_time_limit_seconds": 5.0})
    before = files_below(folder)

    for mode in AttemptMode:
        planned(changed, mode)

    assert files_below(folder) == before


def test_a_changed_record_is_out_of_date_and_its_changed_fields_are_named(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())
    records = [{**RECORDS[0], "goal": "Another.", "turns": ["Hi."]}, *RECORDS[1:]]
    evaluation.data_set.write_text(json.dumps(records))

    found = planned(evaluation)

    assert steps(found) == [Step.CALL, Step.REUSE, Step.REUSE]
    assert found.stale == [only(found, "first")]
    assert found.stale[0].changed == ("record.goal", "record.turns")
    assert found.stale[0].because == "changed: record.goal, record.turns"


def test_changed_settings_are_named_too(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())
    changed = evaluation_in(folder, agent={"url": "ws://127.0.0.1:10/media"}, clock="media")

    assert {each.changed for each in planned(changed).stale} == {("agent", "clock")}


def test_a_fingerprint_of_unknown_make_names_no_field(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())
    task = evaluation.load_tasks()[0]
    journal = RunDirectory(evaluation.run_directory).journal(task).path
    fingerprint = evaluation.call_fingerprint(task.record)
    journal.write_text(journal.read_text().replace(fingerprint, "ab" * 32))

    found = only(planned(evaluation), "first")

    assert (found.because, found.stale) == ("record or settings changed", True)


def test_an_accepted_conversation_that_is_gone_is_called_again(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())
    shutil.rmtree(evaluation.run_directory / "records" / "third")

    found = planned(evaluation)

    assert only(found, "third").because == "its accepted conversation is missing"
    assert found.stale == [only(found, "third")]


def test_what_was_never_judged_is_judged_without_a_call(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())
    journal = evaluation.run_directory / "journal" / "first.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines[:2]))

    assert only(planned(evaluation), "first").step is Step.JUDGE
    assert planned(evaluation).calls == 0


def test_a_verdict_that_was_not_acted_on_is(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())
    journal = evaluation.run_directory / "journal" / "first.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:3]))

    assert only(planned(evaluation), "first").step is Step.ACCEPT


def test_metrics_that_are_lacking_are_computed_without_a_call(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())
    more = evaluation.model_copy(update={"metrics": ("task_completion", "response_latency")})

    found = planned(more)

    assert steps(found) == [Step.REUSE] * 3
    assert found.metrics == {"response_latency": 3}
    assert planned(more, AttemptMode.METRICS_ONLY).metrics == {
        "task_completion": 3,
        "response_latency": 3,
    }


def test_force_calls_everything(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())

    found = planned(evaluation, AttemptMode.FORCE)

    assert (found.calls_again, found.stale) == (3, [])


def test_no_attempts_judge_what_is_there_and_call_nobody(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls({"second": [Attempt.CUT_OFF]}))
    judging = evaluation.model_copy(update={"max_attempts": 0})

    assert steps(planned(judging)) == [Step.REUSE, Step.NOTHING, Step.REUSE]
    assert steps(planned(evaluation, AttemptMode.VALIDATE_ONLY)) == [
        Step.JUDGE,
        Step.NOTHING,
        Step.JUDGE,
    ]


def test_a_killed_run_that_used_up_the_attempts_leaves_none(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls({"second": [Attempt.MISSPOKEN]}))
    journal = evaluation.run_directory / "journal" / "second.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if '"gave_up"' not in line))

    found = only(planned(evaluation), "second")

    assert (found.step, found.because) == (Step.NOTHING, "its 2 attempts are used up")


def test_a_damaged_journal_is_told_of_and_nothing_planned(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    run(evaluation, FakeCalls())
    (evaluation.run_directory / "journal" / "first.jsonl").write_text("garbage\n{}\n")

    found = only(planned(evaluation), "first")

    assert found.step is Step.NOTHING
    assert "first.jsonl, line 1" in found.because


def test_time_and_space_follow_from_turns_until_calls_were_made(folder: Path) -> None:
    long_one = {"id": "long", "turns": ["One."] * 10}
    evaluation = evaluation_in(
        folder, [*RECORDS, long_one], max_concurrent_conversations=2, max_attempts=1
    )

    first = planned(evaluation)
    run(evaluation, FakeCalls({"long": [Attempt.CUT_OFF]}))
    second = planned(evaluation)

    assert first.call_seconds == 12 * (2 + 2 + 2 + 10)
    assert first.estimated_seconds == max(12 * 16 / 2, 12 * 10)
    assert second.call_seconds == 62
    assert second.disk_needed_bytes == 62 * AUDIO_BYTES_PER_SECOND == 62 * 80_000
    assert second.disk_free_bytes > 0


def test_calls_on_the_media_clock_take_as_long_as_the_last_ones_did(folder: Path) -> None:
    evaluation = evaluation_in(folder, clock="media", max_concurrent_conversations=1)
    guess = planned(evaluation)
    run(evaluation, FakeCalls())

    known = planned(evaluation, AttemptMode.FORCE)

    assert guess.estimated_seconds == pytest.approx(0.2 * guess.call_seconds)
    assert known.call_seconds == 3 * 62
    assert known.estimated_seconds < 30


def test_a_plan_is_what_the_run_then_does(folder: Path) -> None:
    evaluation = evaluation_in(folder)
    calls = FakeCalls({"second": [Attempt.MISSPOKEN, Attempt.MISSPOKEN, Attempt.GOOD]})
    run(evaluation, calls)
    shutil.rmtree(evaluation.run_directory / "records" / "third")
    calls.placed.clear()

    found = planned(evaluation)
    run(evaluation, calls)

    called = {task_id for task_id, _ in calls.placed}
    assert called == {each.task.id for each in found.with_step(Step.CALL)} == {"second", "third"}
