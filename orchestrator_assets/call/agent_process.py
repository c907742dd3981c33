"""Starts an agent that the evaluation gives a command for, and stops it again."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator_assets.errors import AgentStartError, PreflightError
from orchestrator_assets.evaluation import Agent

_POLL_SECONDS = 0.05
_STOP_SECONDS = 5.0
_LOG_LINES_SHOWN = 15

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """Where an agent answers, with its port filled in."""

    url: str
    call_report_url_template: str | None = None

    def call_report_url(self, call_sid: str) -> str | None:
        """Return where the agent reports on the call; None if it does not report."""
        template = self.call_report_url_template
        return None if template is None else template.replace("{call_sid}", call_sid)


@asynccontextmanager
async def running_agent(agent: Agent, log_path: Path) -> AsyncIterator[AgentAddress]:
    """Yield the agent's address. An agent with a command runs for as long as the block does.

    Its output goes to `log_path`. Raises AgentStartError if it ends or does not listen in time,
    PreflightError where the evaluation has only a placeholder for an address.
    """
    if agent.is_placeholder:
        raise PreflightError(
            f"there is something to call, but agent.url is only a placeholder ({agent.url}); "
            "put the agent's address into the evaluation's file, or set max_attempts to 0 there "
            "to judge what is there and call nobody"
        )
    if agent.command is None:
        yield AgentAddress(agent.url, agent.call_report_url)
        return
    port = _free_port()
    url = agent.url.replace("{port}", str(port))
    report_url = (agent.call_report_url or "").replace("{port}", str(port)) or None
    program, *arguments = (part.replace("{port}", str(port)) for part in agent.command)
    command = [find_program(program) or program, *arguments]
    with log_path.open("ab") as log:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                # An agent that reads its standard input learns there that the run is gone.
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError as error:
            raise AgentStartError(f"agent.command {command} can't be started: {error}") from error
    try:
        await _wait_until_listening(process, url, agent.start_timeout_seconds, log_path)
        yield AgentAddress(url, report_url)
    finally:
        await _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def find_program(name: str) -> str | None:
    """Return the path of an agent's program; None if there is none of that name.

    One beside the running interpreter comes first: the environment may be inactive.
    """
    beside = str(Path(sys.executable).parent)
    search_path = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    return shutil.which(name, path=search_path)


async def _wait_until_listening(
    process: asyncio.subprocess.Process, url: str, timeout_seconds: float, log_path: Path
) -> None:
    address = urlsplit(url)
    host = address.hostname or "127.0.0.1"
    port = address.port or (443 if address.scheme == "wss" else 80)
    deadline = time.monotonic() + timeout_seconds
    while process.returncode is None:
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            if time.monotonic() > deadline:
                raise AgentStartError(
                    f"the agent did not listen on {host}:{port} within {timeout_seconds:g} s; "
                    f"its output ({log_path}) ends:\n{_tail(log_path)}"
                ) from None
            await asyncio.sleep(_POLL_SECONDS)
        else:
            writer.close()
            return
    raise AgentStartError(
        f"the agent ended with exit code {process.returncode} before it listened; "
        f"its output ({log_path}) ends:\n{_tail(log_path)}"
    )


def _tail(log_path: Path) -> str:
    lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-_LOG_LINES_SHOWN:])


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        logger.warning("the agent had ended by itself with exit code %s", process.returncode)
        return
    _signal_group(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        _signal_group(process, signal.SIGKILL)
        await process.wait()


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        logger.debug("the agent was gone before signal %s", number.name)
