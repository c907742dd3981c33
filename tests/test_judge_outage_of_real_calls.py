"""A judge that listens and reads is down during real calls: they are kept, and judged later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation_fakes import write_evaluation
from judge_server import JudgeRequest, JudgeServer
from placed_calls import SHORT_SCRIPT, Engines, demo_agent

from orchestrator_assets.attempts.outcomes import Outcome, TaskOutcome
from orchestrator_assets.attempts.protocols import PlaceCall
from orchestrator_assets.call.placing import CallPlacer
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.metrics.scores import read_scores
from orchestrator_assets.validation.result import USER_SPEECH_FIDELITY


def verdict(request: JudgeRequest) -> dict[str, Any]:
    if request.audio is not None:
        return {"transcript": "", "wrong_entities": [], "rating": 3, "reason": "clear"}
    return {"evidence": [], "summary": "It made up nothing.", "rating": 3}


def evaluation_judged_by(server: JudgeServer, folder: Path, agent_url: str) -> Evaluation:
    judge = {"model": "m", "base_url": server.base_url, "max_retries": 0}
    judge["outage_pause_seconds"] = 0
    path = write_evaluation(
        folder,
        ["talk"],
        agent={"url": agent_url},
        clock="media",
        metrics=["faithfulness", "response_latency"],
        judge=judge,
        audio_judge=judge,
        validation={"user_speech_fidelity": {"judged_by": "audio_judge"}},
    )
    evaluation = load_evaluation(path)
    turns = ", ".join(f'"{turn}"' for turn in SHORT_SCRIPT)
    assert isinstance(evaluation.data_set, Path)
    evaluation.data_set.write_text(f'[{{"id": "talk", "turns": [{turns}]}}]', encoding="utf-8")
    return evaluation


class Calls:
    """Places real calls, and counts them."""

    def __init__(self, place: PlaceCall) -> None:
        self._place = place
        self.placed = 0

    async def __call__(self, *call: Any) -> Any:
        self.placed += 1
        return await self._place(*call)


async def settle(evaluation: Evaluation, calls: Calls, run_id: str) -> TaskOutcome:
    run = EvaluationRun(evaluation, evaluation.load_tasks(), run_id=run_id, place_call=calls)
    [outcome] = [outcome async for outcome in run.outcomes()]
    return outcome


async def test_a_call_is_made_once_kept_unjudged_and_judged_when_the_judge_is_back(
    tmp_path: Path, engines: Engines
) -> None:
    server = JudgeServer(verdict)
    with server:
        pass  # Now it has a port at which nobody answers.
    async with demo_agent(engines) as address:
        evaluation = evaluation_judged_by(server, tmp_path, address.url)
        calls = Calls(CallPlacer(evaluation, address, *engines))

        unjudged = await settle(evaluation, calls, "run-1")
        records = evaluation.run_directory / "records"
        left = {path.name: path.read_bytes() for path in records.glob("talk/*.wav")}
        with server:
            judged = await settle(evaluation, calls, "run-2")

    assert [each.outcome for each in unjudged.attempts] == [Outcome.UNJUDGED]
    assert not unjudged.accepted
    assert judged.accepted
    assert (calls.placed, judged.attempts_made) == (1, 0)
    assert [path.name for path in records.iterdir()] == ["talk"]
    assert {path.name: path.read_bytes() for path in records.glob("talk/*.wav")} == left
    scores = read_scores(records / "talk")
    assert scores[USER_SPEECH_FIDELITY].normalized_score == 1.0
    assert scores["faithfulness"].score == 3.0
    assert scores["faithfulness"].judge is not None
    assert (judged.metrics or {}).keys() == {"faithfulness", "response_latency"}
