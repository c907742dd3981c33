from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from orchestrator_assets.errors import ConfigurationError, JudgeError
from orchestrator_assets.judges.judge import Judge
from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.computation import MetricsComputation
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.scores import merge_scores, read_scores
from orchestrator_assets.metrics.selection import MetricSelection, ScoreChoice
from orchestrator_assets.records import Record, Task

if TYPE_CHECKING:
    from orchestrator_assets.judges.judges import Judges

TASK = Task(Record(id="talk"), trial=1)
ALL = MetricSelection(ScoreChoice.ALL)
Needs = frozenset[Need]
NOTHING: Needs = frozenset()


class Answers:
    """A metric that answers with what it was given, an exception included."""

    code_version = "7"
    pass_threshold = None

    def __init__(
        self, name: str, answer: Any = None, *, needs: frozenset[Need] = frozenset()
    ) -> None:
        self.name = name
        self.needs = needs
        self.answer = scored(1.0) if answer is None else answer
        self.computed: list[tuple[Conversation, int]] = []

    def compute(self, conversation: Conversation) -> MetricScore:
        self.computed.append((conversation, threading.get_ident()))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


class Judged:
    """A judged metric: the same, from a judge, when `release` is set."""

    code_version = "8"
    pass_threshold = None

    def __init__(
        self, name: str, answer: Any = None, *, needs: frozenset[Need] = frozenset()
    ) -> None:
        self.name = name
        self.needs = needs
        self.answer = scored(1.0) if answer is None else answer
        self.begun = asyncio.Event()
        self.release = asyncio.Event()
        self.release.set()
        self.read_before: set[str] = set()

    async def judge(self, conversation: Conversation, judge: Judge) -> MetricScore:
        self.read_before = set(vars(conversation)) - {"task", "directory"}
        self.begun.set()
        await self.release.wait()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


class OneJudge:
    """Judges that always have one: nobody here asks it anything."""

    async def text(self) -> Judge:
        return cast("Judge", object())


JUDGES = cast("Judges", OneJudge())


def scored(value: float | None, **fields: Any) -> MetricScore:
    return MetricScore(name="", score=value, **fields)


def computation(
    *metrics: Any, judges: Judges | None = JUDGES, selection: MetricSelection = ALL
) -> MetricsComputation:
    return MetricsComputation([], judges=judges, extra_metrics=metrics, selection=selection)


def held(directory: Path) -> dict[str, str]:
    """Return the text of each score in `metrics.json`."""
    document = json.loads((directory / "metrics.json").read_text(encoding="utf-8"))
    return {name: json.dumps(score) for name, score in document["metrics"].items()}


def test_an_unknown_metric_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"no metric 'speed'; known: .*task_completion"):
        MetricsComputation(["speed"])


async def test_scores_carry_name_and_version_and_are_kept(tmp_path: Path) -> None:
    use = JudgeUse(model="m", calls=1)
    judged = Judged("b", scored(1.0, judge=use, prompt_hash="12ab", version="theirs"))
    scores = await computation(Answers("a", scored(0.25)), judged).compute(TASK, tmp_path)
    assert scores == {
        "a": MetricScore(name="a", score=0.25, version="7"),
        "b": MetricScore(name="b", score=1.0, version="8", judge=use, prompt_hash="12ab"),
    }
    assert read_scores(tmp_path) == scores


@pytest.mark.parametrize("kind", [Answers, Judged])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (KeyError("turns"), "KeyError: 'turns'"),
        (scored(float("nan")), "ValueError: the score is nan"),
        (scored(3.0, normalized_score=3.0), "ValueError: the normalised score is 3.0"),
        (scored(None), "ValueError: there is no score"),
        ("none", "AttributeError"),
        (scored(1.0, details={"odd": object()}), "PydanticSerializationError"),
    ],
)
async def test_a_metric_that_fails_is_an_errored_score_and_costs_no_other(
    tmp_path: Path, answer: Any, error: str, kind: type[Answers | Judged]
) -> None:
    bad = kind("bad", answer)
    metrics = [bad, Answers("good"), Judged("also_good")]
    scores = await computation(*metrics).compute(TASK, tmp_path)
    assert (scores["good"].score, scores["also_good"].score) == (1.0, 1.0)
    assert scores["bad"].score is None
    assert scores["bad"].error is not None
    assert scores["bad"].error.startswith(error)
    assert scores["bad"].version == bad.code_version
    assert read_scores(tmp_path) == scores


async def test_deterministic_metrics_share_one_reading_in_one_thread(tmp_path: Path) -> None:
    one, other = Answers("one"), Answers("other")
    await computation(one, other).compute(TASK, tmp_path)
    assert one.computed == other.computed
    assert one.computed[0][1] != threading.get_ident()


async def test_judged_metrics_ask_side_by_side_and_hold_up_no_other(tmp_path: Path) -> None:
    slow, quick = Judged("slow"), Judged("quick")
    slow.release.clear()
    scoring = asyncio.create_task(computation(Answers("a"), slow, quick).compute(TASK, tmp_path))
    async with asyncio.timeout(5):
        await slow.begun.wait()
        while not (tmp_path / "metrics.json").exists() or len(read_scores(tmp_path)) < 2:
            await asyncio.sleep(0.01)
    # What others have computed is kept by now, should this one never end.
    assert set(read_scores(tmp_path)) == {"a", "quick"}
    slow.release.set()
    assert list(await scoring) == ["a", "slow", "quick"]


async def test_a_cancelled_computation_passes_that_on_and_keeps_what_it_has(tmp_path: Path) -> None:
    endless = Judged("endless")
    endless.release.clear()
    scoring = asyncio.create_task(computation(Answers("a"), endless).compute(TASK, tmp_path))
    async with asyncio.timeout(5):
        await endless.begun.wait()
        while not (tmp_path / "metrics.json").exists():
            await asyncio.sleep(0.01)
    scoring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await scoring
    assert set(read_scores(tmp_path)) == {"a"}


async def test_what_a_judged_metric_reads_was_read_before_off_the_event_loop(
    tmp_path: Path,
) -> None:
    for name in ("transcript.jsonl", "user_simulator_events.jsonl"):
        (tmp_path / name).write_text("", encoding="utf-8")
    judged = Judged("b")
    await computation(judged).compute(TASK, tmp_path)
    assert {"transcript", "events", "final_state", "call_report"} <= judged.read_before
    assert "caller_track" not in judged.read_before


@pytest.mark.parametrize("kind", [Answers, Judged])
async def test_a_metric_is_skipped_where_what_it_needs_is_missing(
    tmp_path: Path, kind: type[Answers | Judged]
) -> None:
    metric = kind("a", RuntimeError(), needs=frozenset({Need.AUDIO, Need.TRANSCRIPT}))
    scores = await computation(metric).compute(TASK, tmp_path)
    assert scores["a"].skipped
    assert scores["a"].error is None
    assert scores["a"].details == {
        "reason": "there is no recording of both sides; there is no transcript"
    }


async def test_a_need_that_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "agent_call_report.json").write_text("{", encoding="utf-8")
    metric = Answers("a", needs=frozenset({Need.TOOL_CALLS}))
    scores = await computation(metric, Answers("b")).compute(TASK, tmp_path)
    assert "agent_call_report.json" in str(scores["a"].error)
    assert scores["b"].score == 1.0


async def test_evidence_that_is_gone_takes_no_score_with_it(tmp_path: Path) -> None:
    earlier = MetricScore(name="a", score=0.5, version="6")
    merge_scores(tmp_path, "talk", {"a": earlier})
    metric = Answers("a", needs=frozenset({Need.AUDIO}))
    scores = await computation(metric).compute(TASK, tmp_path)
    kept = earlier.model_copy(update={"latest_error": "there is no recording of both sides"})
    assert scores == read_scores(tmp_path) == {"a": kept}


async def test_a_judge_without_a_usable_answer_leaves_its_cost_and_the_answers_beginning(
    tmp_path: Path,
) -> None:
    use = JudgeUse(model="m", calls=2, input_tokens=30)
    error = JudgeError("the answer is no JSON", use=use, raw_answer="no" * 1_000)
    scores = await computation(Judged("a", error)).compute(TASK, tmp_path)
    assert scores["a"] == MetricScore(
        name="a",
        error="the answer is no JSON",
        details={"raw_answer": "no" * 250},
        version="8",
        judge=use,
    )


async def test_a_judge_that_gives_no_answer_takes_no_earlier_score_away(tmp_path: Path) -> None:
    earlier = MetricScore(name="a", score=0.5, normalized_score=0.5, version="7")
    merge_scores(tmp_path, "talk", {"a": earlier})
    scores = await computation(Judged("a", JudgeError("no answer"))).compute(TASK, tmp_path)
    assert scores["a"] == earlier.model_copy(update={"latest_error": "no answer"})
    assert read_scores(tmp_path) == scores


async def test_a_judged_metric_without_a_judge_is_an_error(tmp_path: Path) -> None:
    scores = await computation(Judged("a"), judges=None).compute(TASK, tmp_path)
    assert "there is no judge" in str(scores["a"].error)


async def test_only_what_is_selected_is_computed_and_all_else_stays_byte_for_byte(
    tmp_path: Path,
) -> None:
    before = [Answers("a", scored(0.1 + 0.2)), Answers("b", ValueError("ü")), Judged("c")]
    await computation(*before).compute(TASK, tmp_path)
    earlier = held(tmp_path)
    others = [Answers("a", RuntimeError()), Answers("b", scored(0.5)), Judged("c", RuntimeError())]

    lacking = MetricSelection(ScoreChoice.LACKING)
    scores = await computation(*others, selection=lacking).compute(TASK, tmp_path)

    assert list(scores) == ["b"]
    assert scores["b"].score == 0.5
    assert {**held(tmp_path), "b": ""} == {**earlier, "b": ""}


async def test_where_nothing_is_selected_the_file_is_not_written_at_all(tmp_path: Path) -> None:
    metric = Answers("a")
    await computation(metric).compute(TASK, tmp_path)
    (stat, count) = ((tmp_path / "metrics.json").stat(), len(metric.computed))
    selection = MetricSelection(ScoreChoice.FAILED)
    assert await computation(metric, selection=selection).compute(TASK, tmp_path) == {}
    after = (tmp_path / "metrics.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)
    assert len(metric.computed) == count


async def test_damaged_scores_are_computed_again(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text("{", encoding="utf-8")
    lacking = MetricSelection(ScoreChoice.LACKING)
    scores = await computation(Answers("a"), selection=lacking).compute(TASK, tmp_path)
    assert read_scores(tmp_path) == scores


async def test_scores_that_can_not_be_written_are_raised_once_all_else_has_ended(
    tmp_path: Path,
) -> None:
    gone = tmp_path / "gone"
    gone.write_text("a file where the directory was")
    ended = False

    class Slow(Judged):
        async def judge(self, conversation: Conversation, judge: Judge) -> MetricScore:
            nonlocal ended
            for _ in range(100):
                await asyncio.sleep(0.001)
            ended = True
            return scored(1.0)

    with pytest.raises(OSError, match="Not a directory"):
        await computation(Answers("a"), Slow("b")).compute(TASK, gone)
    assert ended


async def test_without_metrics_nothing_is_written(tmp_path: Path) -> None:
    assert await MetricsComputation([]).compute(TASK, tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


async def test_the_built_in_metrics_name_what_a_conversation_lacks(tmp_path: Path) -> None:
    names = ["task_completion", "response_latency"]
    scores = await MetricsComputation(names).compute(TASK, tmp_path)
    assert scores["task_completion"].skipped
    assert scores["response_latency"].details == {"reason": "there is no recording of both sides"}
