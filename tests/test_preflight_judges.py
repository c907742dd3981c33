"""What is found out of the judges before the first call."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evaluation_fakes import write_evaluation
from judge_server import JudgeServer, closes, fails, hangs, redirects
from websockets.asyncio.server import serve

from orchestrator_assets.errors import PreflightError
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.judges import probing
from orchestrator_assets.plan import plan
from orchestrator_assets.preflight import check_before_calling

BY_AUDIO = {"user_speech_fidelity": {"judged_by": "audio_judge"}}
READS = {"metrics": ["task_completion", "faithfulness"]}
LISTENS = {"validation": BY_AUDIO}
KEY = {"OPENAI_API_KEY": "sk-123456"}


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer({}) as server:
        yield server


async def check(
    folder: Path, environment: dict[str, str] | None = None, **fields: Any
) -> tuple[list[str], list[str]]:
    """Return the faults and the warnings, of an evaluation whose agent is there."""
    async with serve(lambda _: asyncio.sleep(0), "127.0.0.1", 0) as agent:
        url = f"ws://127.0.0.1:{agent.sockets[0].getsockname()[1]}/media"
        evaluation = load_evaluation(write_evaluation(folder, ["a"], agent={"url": url}, **fields))
        planned = plan(evaluation, evaluation.load_tasks())
        try:
            warnings = await check_before_calling(
                evaluation, planned, speech_faults=list, environment=environment or {}
            )
        except PreflightError as error:
            return list(error.faults), []
    return [], warnings


def judge_at(server: JudgeServer, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "base_url": server.base_url, **fields}


async def test_judges_that_answer_are_asked_nothing(tmp_path: Path, server: JudgeServer) -> None:
    judge = judge_at(server)

    found = await check(tmp_path, KEY, judge=judge, audio_judge=judge, **READS, **LISTENS)

    assert found == ([], [])
    assert server.requests == []
    assert [probe.path for probe in server.probes] == ["/v1/models", "/v1/models"]
    assert server.probes[0].headers["Authorization"] == "Bearer sk-123456"


async def test_a_judge_nobody_needs_is_not_looked_at(tmp_path: Path, server: JudgeServer) -> None:
    server.stop()
    judge = {"base_url": server.base_url}

    assert await check(tmp_path, {}, judge=judge, audio_judge=judge) == ([], [])


@pytest.mark.parametrize("needs", [READS, LISTENS])
async def test_only_the_judge_that_is_needed_is_looked_at(
    tmp_path: Path, server: JudgeServer, needs: dict[str, Any]
) -> None:
    judge = judge_at(server)

    assert await check(tmp_path, KEY, judge=judge, audio_judge=judge, **needs) == ([], [])
    assert len(server.probes) == 1


async def test_all_that_is_missing_of_both_is_told_at_once(tmp_path: Path) -> None:
    faults, _ = await check(tmp_path, judge={}, audio_judge={"model": "m"}, **READS, **LISTENS)

    no_key = "no key for https://api.openai.com/v1; set $OPENAI_API_KEY in the environment"
    assert faults == [
        f"judge: no model; set judge.model, or $JUDGE_MODEL in the environment; {no_key}",
        f"audio_judge: {no_key}",
    ]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_refused_is_a_fault_that_names_its_variable(
    tmp_path: Path, server: JudgeServer, status: int
) -> None:
    server.models = fails(status)
    judge = judge_at(server, api_key_env="MY_KEY")

    faults, _ = await check(tmp_path, {"MY_KEY": "sk-hush-hush"}, judge=judge, **READS)

    assert faults == [
        f"judge at {server.base_url} refuses the key (HTTP {status}); is $MY_KEY right?"
    ]


async def test_a_judge_that_is_not_there_is_a_fault(tmp_path: Path, server: JudgeServer) -> None:
    server.stop()

    [fault], _ = await check(tmp_path, audio_judge=judge_at(server), **LISTENS)

    assert fault.startswith(f"audio_judge at {server.base_url} can't be reached: ")


async def test_a_host_that_has_no_address_is_a_fault_that_keeps_the_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    judge = {"model": "m", "base_url": "http://me:hush-hush@judge.invalid/v1"}

    [fault], _ = await check(tmp_path, judge=judge, **READS)

    assert fault.startswith("judge at http://judge.invalid/v1 can't be reached: ")
    assert "hush" not in fault + caplog.text


async def test_a_judge_that_hangs_up_is_a_fault(tmp_path: Path, server: JudgeServer) -> None:
    server.models = closes()

    [fault], _ = await check(tmp_path, judge=judge_at(server), **READS)

    assert "can't be reached" in fault


async def test_a_judge_that_says_nothing_is_a_fault(
    tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "PROBE_SECONDS", 0.2)
    server.models = hangs()

    [fault], _ = await check(tmp_path, judge=judge_at(server), **READS)

    assert fault == f"judge at {server.base_url} does not answer within 0.2 s"


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_judge_that_is_busy_is_a_warning(
    tmp_path: Path, server: JudgeServer, status: int
) -> None:
    server.models = fails(status)

    faults, warnings = await check(tmp_path, judge=judge_at(server), **READS)

    assert faults == []
    assert warnings == [f"judge at {server.base_url} is busy or out of order (HTTP {status})"]


@pytest.mark.parametrize("behaviour", [fails(400), fails(404), fails(405), redirects("/")])
async def test_a_judge_without_a_list_of_models_is_there(
    tmp_path: Path, server: JudgeServer, behaviour: Any
) -> None:
    server.models = behaviour

    assert await check(tmp_path, judge=judge_at(server), **READS) == ([], [])


async def test_faults_of_judges_are_told_with_the_others(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{probe.getsockname()[1]}/media"
    evaluation = load_evaluation(
        write_evaluation(tmp_path, ["a"], agent={"url": url}, judge={}, **READS)
    )
    planned = plan(evaluation, evaluation.load_tasks())

    with pytest.raises(PreflightError) as caught:
        await check_before_calling(
            evaluation, planned, speech_faults=lambda: ["no voice"], environment={}
        )

    assert [fault.split()[0] for fault in caught.value.faults] == ["the", "no", "judge:"]
