"""What is looked at before the first call, with servers that are there and that are not."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from evaluation_fakes import FakeCalls, write_evaluation
from websockets.asyncio.server import Request, Response, ServerConnection, serve

from orchestrator_assets import preflight
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.errors import PreflightError, SpeechEngineError
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.plan import Plan, plan
from orchestrator_assets.preflight import check_before_calling, missing_speech_engines


def evaluation_of(folder: Path, url: str, **agent: Any) -> Evaluation:
    path = write_evaluation(folder, ["first", "second"], agent={"url": url, **agent})
    return load_evaluation(path)


async def check(evaluation: Evaluation, planned: Plan | None = None) -> list[str]:
    planned = planned or plan(evaluation, evaluation.load_tasks())
    return await check_before_calling(evaluation, planned, speech_faults=list)


async def faults_of(evaluation: Evaluation, planned: Plan | None = None) -> tuple[str, ...]:
    with pytest.raises(PreflightError) as caught:
        await check(evaluation, planned)
    return caught.value.faults


@pytest.fixture
def dead_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def agent_server(status: HTTPStatus | None = None) -> AsyncIterator[tuple[str, list[str]]]:
    """Yield the URL of an agent and what it was told."""
    told: list[str] = []

    async def answer(connection: ServerConnection) -> None:
        told.extend([str(message) async for message in connection])

    def refuse(connection: ServerConnection, request: Request) -> Response | None:
        return None if status is None else connection.respond(status, "no")

    async with serve(answer, "127.0.0.1", 0, process_request=refuse) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"ws://127.0.0.1:{port}/media?token=secret", told


async def test_an_agent_that_answers_is_told_of_no_call(tmp_path: Path) -> None:
    async with agent_server() as (url, told):
        assert await check(evaluation_of(tmp_path, url)) == []
    assert told == []


async def test_an_agent_that_is_not_there_is_a_fault(tmp_path: Path, dead_port: int) -> None:
    [fault] = await faults_of(evaluation_of(tmp_path, f"ws://127.0.0.1:{dead_port}/media"))

    assert fault.startswith(f"the agent at 127.0.0.1:{dead_port} can't be reached: ")


async def test_an_agent_that_refuses_is_a_fault_that_keeps_the_secret(tmp_path: Path) -> None:
    async with agent_server(HTTPStatus.UNAUTHORIZED) as (url, _):
        [fault] = await faults_of(evaluation_of(tmp_path, url))

    assert "refuses the WebSocket (HTTP 401)" in fault
    assert "secret" not in fault


@pytest.mark.parametrize("status", [HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE])
async def test_an_agent_that_is_busy_is_there(tmp_path: Path, status: HTTPStatus) -> None:
    async with agent_server(status) as (url, _):
        [warning] = await check(evaluation_of(tmp_path, url))

    assert f"is busy (HTTP {status.value})" in warning


async def test_what_speaks_no_websocket_is_a_fault(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"220 mail.example.com ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        [fault] = await faults_of(evaluation_of(tmp_path, f"ws://127.0.0.1:{port}/media"))

    assert "does not speak WebSocket" in fault


async def test_a_placeholder_is_no_agent(tmp_path: Path) -> None:
    [fault] = await faults_of(evaluation_of(tmp_path, "ws://agent.invalid/media"))

    assert fault.startswith("agent.url is only a placeholder (ws://agent.invalid/media)")


async def test_of_an_agent_with_a_command_only_the_program_is_looked_at(tmp_path: Path) -> None:
    url = "ws://127.0.0.1:{port}/media"
    report = "http://127.0.0.1:{port}/calls/{call_sid}"

    assert (
        await check(evaluation_of(tmp_path, url, command=["python3", "-V"], call_report_url=report))
        == []
    )
    assert await faults_of(evaluation_of(tmp_path, url, command=["no_such_agent_program"])) == (
        "agent.command: there is no program 'no_such_agent_program'; install or correct it",
    )


async def test_a_report_that_can_not_be_had_is_only_a_warning(
    tmp_path: Path, dead_port: int
) -> None:
    report = f"http://127.0.0.1:{dead_port}/calls/{{call_sid}}"
    async with agent_server() as (url, _):
        [warning] = await check(evaluation_of(tmp_path, url, call_report_url=report))

    assert warning.startswith(f"agent.call_report_url: 127.0.0.1:{dead_port} can't be reached (")


async def test_too_little_space_is_a_fault(tmp_path: Path) -> None:
    async with agent_server() as (url, _):
        evaluation = evaluation_of(tmp_path, url)
        planned = replace(plan(evaluation, evaluation.load_tasks()), call_seconds=1e12)
        [fault] = await faults_of(evaluation, planned)

    assert fault.startswith(
        "2 calls record about 80,000,000,000 MB, and 64 MB have to stay free, but only "
    )


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
async def test_an_output_directory_that_takes_no_file_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    async with agent_server() as (url, _):
        [fault] = await faults_of(evaluation_of(tmp_path, url))

    assert fault.endswith(f"can't be written to: {os.strerror(number)}")


async def test_an_output_directory_that_is_a_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    async with agent_server() as (url, _):
        [fault] = await faults_of(evaluation_of(tmp_path, url))

    assert fault.startswith(f"{tmp_path / 'runs'} is in the way")


async def test_all_faults_are_told_at_once(tmp_path: Path, dead_port: int) -> None:
    (tmp_path / "runs").write_text("")
    evaluation = evaluation_of(tmp_path, f"ws://127.0.0.1:{dead_port}/media")
    planned = plan(evaluation, evaluation.load_tasks())

    with pytest.raises(PreflightError, match=r"^3 faults, so that nobody") as caught:
        await check_before_calling(evaluation, planned, speech_faults=lambda: ["no voice"])

    assert [fault.split()[0] for fault in caught.value.faults] == [
        "the",
        "no",
        str(tmp_path / "runs"),
    ]


def test_the_speech_engines_are_there() -> None:
    assert missing_speech_engines() == []


def test_each_missing_speech_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise SpeechEngineError("not installed")

    monkeypatch.setattr(preflight, "check_text_to_speech", missing)
    monkeypatch.setattr(preflight, "default_speech_to_text", missing)

    assert missing_speech_engines() == ["not installed", "not installed"]


async def outcomes(run: EvaluationRun) -> list[Any]:
    return [outcome async for outcome in run.outcomes()]


async def test_a_run_with_a_fault_writes_nothing(tmp_path: Path, dead_port: int) -> None:
    evaluation = evaluation_of(tmp_path, f"ws://127.0.0.1:{dead_port}/media")
    run = EvaluationRun(evaluation, evaluation.load_tasks(), run_id="run-1")

    with pytest.raises(PreflightError, match="can't be reached"):
        await outcomes(run)

    assert isinstance(run.error, PreflightError)
    assert not evaluation.run_directory.exists()


async def test_a_run_that_calls_nobody_is_not_looked_at(tmp_path: Path, dead_port: int) -> None:
    evaluation = evaluation_of(tmp_path, f"ws://127.0.0.1:{dead_port}/media")
    tasks = evaluation.load_tasks()
    calls = FakeCalls()
    await outcomes(calls.create_run(evaluation, tasks, mode=AttemptMode.CALL, run_id="run-1"))

    reusing = EvaluationRun(evaluation, tasks, run_id="run-2")
    judging = EvaluationRun(
        evaluation,
        tasks,
        mode=AttemptMode.VALIDATE_ONLY,
        run_id="run-3",
        validate=calls.validate,
    )

    assert all(outcome.reused for outcome in await outcomes(reusing))
    assert all(outcome.accepted for outcome in await outcomes(judging))


async def test_without_preflight_the_calls_fail_one_by_one(tmp_path: Path, dead_port: int) -> None:
    evaluation = evaluation_of(tmp_path, f"ws://127.0.0.1:{dead_port}/media").model_copy(
        update={"max_attempts": 1}
    )
    run = EvaluationRun(evaluation, evaluation.load_tasks(), run_id="run-1", preflight=False)

    settled = await outcomes(run)

    assert [outcome.accepted for outcome in settled] == [False, False]
    summary = json.loads((evaluation.run_directory / "evaluation_summary.json").read_text())
    assert summary["attempts"]["by_cause"]["transport"] == 2


async def test_a_run_keeps_the_warnings(
    tmp_path: Path, dead_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = f"http://127.0.0.1:{dead_port}/calls/{{call_sid}}"
    async with agent_server() as (url, _):
        evaluation = evaluation_of(tmp_path, url, call_report_url=report)
        run = EvaluationRun(evaluation, evaluation.load_tasks()[:1], run_id="run-1")
        stream = run.outcomes()
        settling = asyncio.ensure_future(anext(stream))
        async with asyncio.timeout(20):
            while not run.warnings:
                await asyncio.sleep(0.01)
        settling.cancel()
        await asyncio.wait({settling})
        await stream.aclose()

    assert "call_report_url" in run.warnings[0]


async def test_records_without_words_are_named(tmp_path: Path) -> None:
    async with agent_server() as (url, _):
        evaluation = evaluation_of(tmp_path, url)
        rows = [{"id": f"mute {number}"} for number in range(7)] + [{"id": "x", "turns": ["Hi."]}]
        (tmp_path / "trial_run_records.json").write_text(json.dumps(rows), encoding="utf-8")

        [fault] = await faults_of(evaluation)

    assert fault.startswith("no `turns` for the scripted caller to say in record 'mute 0', ")
    assert "'mute 4' and 2 more;" in fault
    assert "'x'" not in fault
