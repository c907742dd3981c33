"""The commands that call nobody: metrics, revalidate and summarize. The instance is real."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance
from evaluation_fakes import Attempt, FakeCalls, write_evaluation
from metric_packages import install_mood
from typer.testing import CliRunner, Result

from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.cli import app
from orchestrator_assets.command_line import watched_run
from orchestrator_assets.dagster_assets.instance import HOME_VARIABLE
from orchestrator_assets.evaluation_files import EVALUATIONS_VARIABLE
from orchestrator_assets.records import Task

RECORD_IDS = ["first", "second", "third"]
METRICS = ["mood", "task_completion"]


class NoMoreCalls(FakeCalls):
    """Calls are placed until `over`; one more would be an error that nothing hides."""

    over = False

    async def place_call(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        assert not self.over, f"{task.id} was called"
        return await super().place_call(task, attempt, directory, slot)


class Settled:
    """An evaluation of three records whose conversations were accepted and scored."""

    def __init__(self, path: Path, calls: NoMoreCalls, mood: ModuleType) -> None:
        self.path = path
        self.calls = calls
        self.mood = mood
        self.run_directory = path.parent / "runs" / "trial_run"

    def command(self, name: str, *arguments: str) -> Result:
        self.mood.COMPUTED.clear()
        self.calls.judged.clear()
        return CliRunner().invoke(app, [name, str(self.path), *arguments])

    def score(self, record_id: str, metric: str = "mood") -> dict[str, Any]:
        text = (self.run_directory / "records" / record_id / "metrics.json").read_text("utf-8")
        found: dict[str, Any] = json.loads(text)["metrics"][metric]
        return found

    def scores(self) -> dict[str, str]:
        """Return the text of every score, by record and metric."""
        return {
            f"{record_id} {name}": json.dumps(score)
            for record_id in RECORD_IDS
            for name, score in json.loads(
                (self.run_directory / "records" / record_id / "metrics.json").read_text("utf-8")
            )["metrics"].items()
        }

    def files(self, record_id: str) -> dict[str, tuple[int, bytes]]:
        """Return the files of a task, its journal among them: inode and content."""
        folder = self.run_directory / "records" / record_id
        paths = [*folder.rglob("*"), self.run_directory / "journal" / f"{record_id}.jsonl"]
        return {str(path): (path.stat().st_ino, path.read_bytes()) for path in paths}

    def journal(self, record_id: str) -> list[dict[str, Any]]:
        path = self.run_directory / "journal" / f"{record_id}.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settled:
    monkeypatch.chdir(tmp_path)
    for variable in (HOME_VARIABLE, EVALUATIONS_VARIABLE):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    calls = NoMoreCalls(real_metrics=True)
    monkeypatch.setattr(watched_run, "EvaluationRun", calls.create_run)
    mood = install_mood(tmp_path, monkeypatch)
    path = write_evaluation(tmp_path / "mine", RECORD_IDS, metrics=METRICS)
    settled = Settled(path, calls, mood)
    assert settled.command("run").exit_code == 0
    calls.over = True
    return settled


def last_config() -> dict[str, Any]:
    """Return the configuration of the last run's op."""
    with DagsterInstance.get() as instance:
        (op,) = instance.get_runs(limit=1)[0].run_config["ops"].values()
        return dict(op["config"])


def test_where_every_score_is_up_to_date_nothing_is_done(settled: Settled) -> None:
    before = {each: settled.files(each) for each in RECORD_IDS}

    result = settled.command("metrics")

    assert result.exit_code == 0, result.output
    assert result.output == "trial_run: 3 accepted conversations: nothing to compute\n"
    assert {each: settled.files(each) for each in RECORD_IDS} == before


def test_what_is_lacking_errored_or_stale_is_computed_and_nothing_else(
    settled: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = settled.run_directory / "records" / "second" / "metrics.json"
    document = json.loads(path.read_text("utf-8"))
    document["metrics"]["mood"]["version"] = "0"
    path.write_text(json.dumps(document), encoding="utf-8")
    settled.mood.ANSWERS["second"] = 0.25
    before, untouched = settled.scores(), settled.files("first")

    dry = settled.command("metrics", "--dry-run")
    result = settled.command("metrics")

    assert dry.exit_code == 0
    assert dry.output.splitlines() == [
        "trial_run: 3 accepted conversations: compute scores of 1",
        "  metrics to compute: mood (1)",
        "  of an older version: mood 0 → 1 (1)",
        "  second: mood",
    ]
    assert result.exit_code == 0, result.output
    assert settled.mood.COMPUTED == ["second"]
    assert settled.score("second")["score"] == 0.25
    changed = {name for name, text in settled.scores().items() if text != before[name]}
    assert changed == {"second mood"}
    assert settled.files("first") == untouched
    assert "mood   |      1 |       0 |       0 |    0 | 0.25" in result.output
    assert last_config() == {"task_keys": ["second"], "scores": "outdated"}


def test_a_run_shows_stale_scores_and_leaves_them_alone(settled: Settled) -> None:
    settled.mood.Mood.code_version = "2"

    result = settled.command("run")

    assert result.exit_code == 0, result.output
    assert (
        "  of an older version: mood 1 → 2 (3); `orchestrator-assets metrics` computes them again"
    ) in result.output
    assert settled.mood.COMPUTED == []
    assert settled.score("first")["version"] == "1"


def test_only_failed_scores_are_computed_and_the_exit_code_says_whether_all_are_there(
    settled: Settled,
) -> None:
    settled.mood.ANSWERS |= {"first": ValueError("no luck"), "third": 0.5}
    assert settled.command("metrics", "--force").exit_code == 1
    assert settled.score("first") | {"latest_error": None} == settled.score("second")
    assert settled.score("first")["latest_error"] == "ValueError: no luck"
    untouched = {each: settled.files(each) for each in ("second", "third")}

    still = settled.command("metrics", "--failed")
    settled.mood.ANSWERS["first"] = 0.75
    mended = settled.command("metrics", "--failed")
    nothing = settled.command("metrics", "--failed")

    assert still.exit_code == 1
    assert "first: mood: kept its earlier score: ValueError: no luck" in still.output
    assert mended.exit_code == 0, mended.output
    assert settled.score("first")["score"] == 0.75
    assert settled.score("first")["latest_error"] is None
    assert "nothing to compute" in nothing.output
    assert settled.mood.COMPUTED == []
    assert {each: settled.files(each) for each in ("second", "third")} == untouched


def test_a_run_computes_errored_scores_alone_and_calls_nobody(settled: Settled) -> None:
    for path in settled.run_directory.glob("records/*/metrics.json"):
        document = json.loads(path.read_text("utf-8"))
        del document["metrics"]["mood"]
        path.write_text(json.dumps(document), encoding="utf-8")
    settled.mood.ANSWERS["second"] = ValueError("no luck")
    settled.command("run")
    assert settled.score("second")["error"] == "ValueError: no luck"
    settled.mood.ANSWERS.clear()
    before = settled.scores()

    result = settled.command("run")

    assert result.exit_code == 0, result.output
    assert settled.mood.COMPUTED == ["second"]
    assert {**settled.scores(), "second mood": ""} == {**before, "second mood": ""}
    scores = settled.journal("second")[-1]["scores"]
    assert scores == {"mood": 1.0, "task_completion": None}


def test_one_named_metric_of_one_record_is_forced(settled: Settled) -> None:
    settled.mood.ANSWERS |= dict.fromkeys(RECORD_IDS, 0.5)
    before, untouched = settled.scores(), settled.files("first")

    arguments = ("--metric", "mood", "--force", "--record", "third")
    result = settled.command("metrics", *arguments)

    assert result.exit_code == 0, result.output
    assert settled.mood.COMPUTED == ["third"]
    changed = {name for name, text in settled.scores().items() if text != before[name]}
    assert changed == {"third mood"}
    assert settled.files("first") == untouched


def test_a_metric_the_evaluation_does_not_name_ends_with_2(settled: Settled) -> None:
    result = settled.command("metrics", "--metric", "turns", "--metric", "speed")

    assert result.exit_code == 2
    assert "metrics: 'turns' is not in `metrics` of trial_run (mood, task_completion)" in (
        result.output
    )
    assert "'speed' is not" in result.output


def test_failed_and_force_exclude_each_other(settled: Settled) -> None:
    assert settled.command("metrics", "--failed", "--force").exit_code == 2


def test_a_named_record_without_an_accepted_conversation_ends_with_1(
    tmp_path: Path, settled: Settled
) -> None:
    records = tmp_path / "mine" / "trial_run_records.json"
    rows = [*json.loads(records.read_text()), {"id": "fourth", "turns": ["Hello?"]}]
    records.write_text(json.dumps(rows))

    named = settled.command("metrics", "--record", "fourth")

    assert named.exit_code == 1
    assert "fourth: has no accepted conversation" in named.output
    assert settled.command("metrics").exit_code == 0


def test_scores_show_in_dagster_as_materialisations_of_the_tasks_that_were_scored(
    settled: Settled,
) -> None:
    settled.command("metrics", "--force", "--record", "second")

    with DagsterInstance.get() as instance:
        run = instance.get_runs(limit=1)[0]
        assert run.job_name == "trial_run_recompute_metrics"
        events = instance.all_logs(run.run_id)
        found = {
            (event.asset_key, event.partition)
            for entry in events
            if (event := entry.asset_materialization) is not None
        }
    assert found == {
        (AssetKey(["trial_run", "metrics"]), "second"),
        (AssetKey(["trial_run", "record_summary"]), "second"),
        (AssetKey(["trial_run", "evaluation_summary"]), None),
    }


def test_accepted_conversations_are_judged_again_without_a_call(settled: Settled) -> None:
    settled.calls.plans = {"second": [Attempt.MISSPOKEN]}
    before = settled.scores()

    dry = settled.command("revalidate", "--dry-run")
    result = settled.command("revalidate")

    assert dry.output.startswith("trial_run: 3 tasks: judge 3 without a call\n")
    assert result.exit_code == 1
    # Each once: a verdict may cost money.
    assert sorted(settled.calls.judged) == RECORD_IDS
    assert "2 of 3 tasks accepted." in result.output
    assert settled.mood.COMPUTED == []
    kept = {name: text for name, text in settled.scores().items() if "user_" not in name}
    assert kept == {name: text for name, text in before.items() if "user_" not in name}
    assert settled.command("revalidate").exit_code == 0
    assert sorted(settled.calls.judged) == ["first", "third"]


def test_one_record_is_judged_again(settled: Settled) -> None:
    untouched = settled.files("first")

    result = settled.command("revalidate", "--record", "second")

    assert result.exit_code == 0, result.output
    assert settled.calls.judged == ["second"]
    assert settled.files("first") == untouched


def test_summaries_are_written_again_without_a_metric_or_a_judge(settled: Settled) -> None:
    summary = settled.run_directory / "metrics_summary.json"
    summary.unlink()
    before = {each: settled.files(each) for each in RECORD_IDS}

    result = settled.command("summarize")

    assert result.exit_code == 0, result.output
    assert "trial_run: 3 tasks: 3 accepted" in result.output
    assert summary.exists()
    assert (settled.mood.COMPUTED, settled.calls.judged) == ([], [])
    assert {each: settled.files(each) for each in RECORD_IDS} == before
    with DagsterInstance.get() as instance:
        assert instance.get_runs(limit=1)[0].job_name == "trial_run_summarize"


def test_status_says_which_scores_are_stale(settled: Settled) -> None:
    settled.mood.Mood.code_version = "2"

    lines = settled.command("status").output.splitlines()

    assert "scores of an older version: mood 1 → 2 (3)" in lines
    as_json = json.loads(settled.command("status", "--json").output)
    assert as_json["stale_scores"] == [
        {"metric": "mood", "version": "1", "current": "2", "conversations": 3}
    ]


def test_the_metrics_there_are_can_be_listed(
    settled: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(settled.mood.Mood, "pass_threshold")

    broken = settled.command("metrics", "--list").output
    monkeypatch.undo()

    rows = {line.split("|")[1].strip(): line for line in broken.splitlines() if "|" in line}
    assert "deterministic" in rows["response_latency"]
    assert "audio" in rows["response_latency"]
    assert "built in" in rows["response_latency"]
    assert "mood" not in rows
    assert "moods (moods:Mood) is no metric: it has no `pass_threshold`" in broken


@pytest.mark.parametrize(
    "arguments",
    [("metrics", "--dry-run"), ("metrics", "--list"), ("revalidate", "--dry-run"), ("status",)],
)
def test_looking_needs_neither_dagster_nor_a_judges_client(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    code = (
        "import sys; from orchestrator_assets.cli import app;"
        f"app({list(arguments)}, standalone_mode=False);"
        "sys.exit(', '.join({'dagster', 'openai'} & sys.modules.keys()) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
