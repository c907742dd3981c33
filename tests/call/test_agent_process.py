from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from orchestrator_assets.call.agent_process import running_agent
from orchestrator_assets.errors import AgentStartError
from orchestrator_assets.evaluation import Agent

LISTEN = """
import os, socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("pid", os.getpid(), flush=True)
while True:
    server.accept()[0].close()
"""


def agent(program: str, *arguments: str, seconds: float = 30) -> Agent:
    return Agent(
        url="ws://127.0.0.1:{port}/media",
        command=(sys.executable, "-c", program, *arguments),
        call_report_url="http://127.0.0.1:{port}/calls/{call_sid}",
        start_timeout_seconds=seconds,
    )


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_an_agent_with_a_command_runs_for_as_long_as_it_is_needed(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    async with running_agent(agent(LISTEN, "{port}"), log) as address:
        port = address.url.split(":")[2].split("/")[0]
        assert address.call_report_url("CA1") == f"http://127.0.0.1:{port}/calls/CA1"
        _, writer = await asyncio.open_connection("127.0.0.1", int(port))
        writer.close()
        pid = int(log.read_text().split()[1])
        assert alive(pid)
    assert not alive(pid)


async def test_an_agent_that_ignores_a_polite_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator_assets.call.agent_process._STOP_SECONDS", 0.2)
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + LISTEN
    log = tmp_path / "agent.log"
    async with running_agent(agent(stubborn, "{port}"), log):
        pid = int(log.read_text().split()[1])
    assert not alive(pid)


async def test_an_agent_that_ends_before_it_listens_is_an_error_that_shows_its_output(
    tmp_path: Path,
) -> None:
    failing = agent("import sys; print('no licence'); sys.exit(7)")
    with pytest.raises(AgentStartError, match=r"(?s)exit code 7 .*no licence"):
        async with running_agent(failing, tmp_path / "agent.log"):
            pytest.fail("the agent is not there")


async def test_an_agent_that_never_listens_is_an_error_and_is_stopped(tmp_path: Path) -> None:
    sleeping = agent(
        "import os, time; print('pid', os.getpid(), flush=True); time.sleep(60)", seconds=0.5
    )
    log = tmp_path / "agent.log"
    with pytest.raises(AgentStartError, match=r"did not listen on 127\.0\.0\.1:\d+ within 0\.5 s"):
        async with running_agent(sleeping, log):
            pytest.fail("the agent is not there")
    output = log.read_text().split()
    assert not output or not alive(int(output[1]))


async def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    missing = Agent(url="ws://127.0.0.1:{port}/", command=("no-such-program", "{port}"))
    with pytest.raises(AgentStartError, match="no-such-program"):
        async with running_agent(missing, tmp_path / "agent.log"):
            pytest.fail("the agent is not there")


async def test_an_agent_without_a_command_is_left_alone(tmp_path: Path) -> None:
    foreign = Agent(url="wss://agent.example/media")
    async with running_agent(foreign, tmp_path / "agent.log") as address:
        assert address.url == "wss://agent.example/media"
        assert address.call_report_url("CA1") is None
    assert not (tmp_path / "agent.log").exists()
