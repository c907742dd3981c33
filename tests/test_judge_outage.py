"""A judge that is down costs no call and no score. It is a real HTTP server, calls are fakes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import pytest
from evaluation_fakes import FakeCalls, write_evaluation
from judge_server import JudgeServer
from metric_packages import install_opinion
from pydantic import BaseModel
from scripted_world import World
from typer.testing import CliRunner, Result

from orchestrator_assets.attempts.outcomes import Outcome, TaskOutcome
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.cli import app
from orchestrator_assets.command_line import watched_run
from orchestrator_assets.dagster_assets.instance import HOME_VARIABLE
from orchestrator_assets.errors import JudgeError
from orchestrator_assets.evaluation_files import EVALUATIONS_VARIABLE
from orchestrator_assets.judges.judge import Judge
from orchestrator_assets.judges.judges import Judges
from orchestrator_assets.judges.prompt import Prompt
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.computation import MetricsComputation
from orchestrator_assets.metrics.scores import merge_scores, read_scores
from orchestrator_assets.records import Record, Task
from orchestrator_assets.validation.result import USER_SPEECH_FIDELITY, ValidationResult

RECORD_IDS = ["first", "second", "third"]
HOUR_SECONDS = 3_600.0


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer({"rating": 3}) as server:
        yield server


@pytest.fixture(autouse=True)
def opinion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_opinion(tmp_path, monkeypatch)


class CommandLine:
    """Runs commands on an evaluation with a judged metric, and reads what they leave."""

    def __init__(self, path: Path, calls: FakeCalls) -> None:
        self.path = path
        self.calls = calls
        self.run_directory = path.parent / "runs" / "trial_run"

    def __call__(self, name: str, *arguments: str) -> Result:
        return CliRunner().invoke(app, [name, str(self.path), *arguments])

    def opinions(self) -> dict[str, MetricScore]:
        return {
            each: read_scores(self.run_directory / "records" / each)["opinion"]
            for each in RECORD_IDS
        }

    def directories(self) -> list[str]:
        return sorted(path.name for path in (self.run_directory / "records").iterdir())


@pytest.fixture
def command(tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    for variable in (HOME_VARIABLE, EVALUATIONS_VARIABLE):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    calls = FakeCalls(real_metrics=True)
    monkeypatch.setattr(watched_run, "EvaluationRun", calls.create_run)
    judge = {"model": "m", "base_url": server.base_url, "max_retries": 0}
    path = write_evaluation(tmp_path / "mine", RECORD_IDS, metrics=["opinion"], judge=judge)
    return CommandLine(path, calls)


def test_calls_are_made_once_and_scored_when_the_judge_is_back(
    command: CommandLine, server: JudgeServer
) -> None:
    server.stop()
    down = command("run")
    without = command.opinions()
    still_down = command("metrics", "--failed")
    server.start()
    up = command("run")

    assert down.exit_code == 0, down.output
    assert "3 of 3 tasks accepted." in down.output
    assert "Scores that could not be computed: 3. Try them again: orchestrator-assets metrics" in (
        down.output
    )
    assert all(score.score is None and score.error for score in without.values())
    assert still_down.exit_code == 1
    assert "| opinion |      0 |       0 |       3 |    0 |      |" in still_down.output
    assert up.exit_code == 0, up.output
    assert {each.score for each in command.opinions().values()} == {3.0}
    assert sorted(command.calls.placed) == [(each, 1) for each in RECORD_IDS]
    assert command.directories() == RECORD_IDS


def test_failed_scores_alone_are_asked_for_again(command: CommandLine, server: JudgeServer) -> None:
    server.stop()
    command("run", "--record", "first", "--record", "second")
    server.start()
    command("run", "--record", "third")
    asked = len(server.requests)

    result = command("metrics", "--failed")

    assert result.exit_code == 0, result.output
    assert len(server.requests) == asked + 2
    assert {each.score for each in command.opinions().values()} == {3.0}
    assert sorted(command.calls.placed) == [(each, 1) for each in RECORD_IDS]


def test_scores_that_are_forced_while_the_judge_is_down_stay_as_they_were(
    command: CommandLine, server: JudgeServer
) -> None:
    command("run")
    before = command.opinions()
    server.stop()

    forced = command("metrics", "--force")

    assert forced.exit_code == 1
    kept = command.opinions()
    assert all(score.latest_error for score in kept.values())
    assert {
        name: score.model_copy(update={"latest_error": None}) for name, score in kept.items()
    } == before
    server.start()
    server.default = {"rating": 1}
    assert command("metrics").exit_code == 0
    assert {(each.score, each.latest_error) for each in command.opinions().values()} == {
        (1.0, None)
    }
    assert len(command.calls.placed) == 3


class Fidelity(BaseModel):
    """What the judge of the caller answers."""

    rating: int


class JudgedWorld(World):
    """Calls take two virtual minutes; a judge says whether the caller did its part.

    The judge sleeps and tells the time by the same virtual clock.
    """

    judge: Judge
    now: float = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await super().sleep(seconds)

    async def place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        self.now += 120.0
        return await super().place_call(task, attempt, directory, slot)

    async def validate(self, task: Task, directory: Path, *, bypass_gate: bool) -> ValidationResult:
        found = await super().validate(task, directory, bypass_gate=bypass_gate)
        score = MetricScore(name=USER_SPEECH_FIDELITY)
        try:
            judgement = await self.judge.ask(
                Prompt("fidelity", "1", "Did the caller speak clearly?"),
                {},
                Fidelity,
                metric=USER_SPEECH_FIDELITY,
                directory=directory,
            )
        except JudgeError as error:
            score.error = str(error)
        else:
            score.score = float(judgement.answer.rating)
        merge_scores(directory, task.id, {score.name: score})
        return found.model_copy(
            update={"errored_metrics": (score.name,) if score.error is not None else ()}
        )

    async def text(self) -> Judge:
        return self.judge

    async def run_judged_by(
        self, server: JudgeServer, *tasks: Task, **options: Any
    ) -> list[TaskOutcome]:
        """Run to the end; the judge is made for the run, as any invocation does."""
        settings = server.settings()
        self.judge = Judge(settings, environment={}, sleep=self.sleep, clock=lambda: self.now)
        try:
            return await self.run(*tasks, **options)
        finally:
            await self.judge.aclose()

    async def compute_metrics(self, task: Task, directory: Path) -> Mapping[str, MetricScore]:
        metrics = MetricsComputation(["opinion"], judges=cast("Judges", self))
        return await metrics.compute(task, directory)


async def test_an_hour_without_a_judge_costs_no_call_and_no_verdict(
    tmp_path: Path, server: JudgeServer
) -> None:
    tasks = [Task(Record(id=f"record_{number}", turns=("Hello?",))) for number in range(30)]
    world = JudgedWorld(tmp_path / "runs")
    server.stop()

    unjudged = await world.run_judged_by(server, *tasks)
    server.start()
    judged = await world.run_judged_by(server, *tasks)

    assert world.now >= HOUR_SECONDS
    assert {each.attempts[-1].outcome for each in unjudged} == {Outcome.UNJUDGED}
    assert all(each.accepted and each.attempts_made == 0 for each in judged)
    assert {(each.metrics or {})["opinion"].score for each in judged} == {3.0}
    assert len(world.calls) == len(tasks)
    assert world.record_directories() == sorted(each.id for each in tasks)


async def test_an_accepted_conversation_stays_accepted_while_nobody_can_judge_it_again(
    tmp_path: Path, server: JudgeServer
) -> None:
    task = Task(Record(id="record", turns=("Hello?",)))
    world = JudgedWorld(tmp_path / "runs")
    [accepted] = await world.run_judged_by(server, task)
    before = read_scores(world.run_directory.task_directory(task))
    server.stop()

    [again] = await world.run_judged_by(server, task, mode=AttemptMode.VALIDATE_ONLY)

    assert accepted.accepted
    assert again.accepted
    assert "no answer from the judge" in str(again.error)
    kept = read_scores(world.run_directory.task_directory(task))
    assert kept[USER_SPEECH_FIDELITY].score == before[USER_SPEECH_FIDELITY].score == 3.0
    assert kept[USER_SPEECH_FIDELITY].latest_error
    assert len(world.calls) == 1


def test_what_was_spent_is_kept_though_no_answer_could_be_used(
    command: CommandLine, server: JudgeServer
) -> None:
    server.default = {"rating": "very good"}

    command("run", "--record", "first")

    directory = command.run_directory / "records" / "first"
    score = read_scores(directory)["opinion"]
    assert score.error is not None
    assert score.judge is not None
    assert score.judge.calls == 2
    assert score.details == {"raw_answer": json.dumps({"rating": "very good"})}
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in (directory / "judge_calls.jsonl").read_text().splitlines()
    ]
    assert [line["outcome"] for line in lines] == ["unusable_answer"] * 2
