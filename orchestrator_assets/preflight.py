"""What must be in order before the first call (A12), looked at all at once.

Nothing here starts the agent or loads what only the calls need: it finds what can be known to fail.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

from orchestrator_assets.call.agent_process import find_program
from orchestrator_assets.call.speech.engines import default_speech_to_text
from orchestrator_assets.call.speech.hibari import check_installed as check_text_to_speech
from orchestrator_assets.call.transports.twilio import BUSY_STATUSES
from orchestrator_assets.errors import (
    ConfigurationError,
    JudgeError,
    PreflightError,
    SpeechEngineError,
)
from orchestrator_assets.evaluation import Agent, Evaluation, SpeechJudge
from orchestrator_assets.judges.access import access_to
from orchestrator_assets.judges.probing import probe
from orchestrator_assets.judges.settings import JudgeSettings
from orchestrator_assets.metrics.registry import create_metrics, is_judged
from orchestrator_assets.plan import Plan, Step, existing_part
from orchestrator_assets.store.disk import KEPT_FREE_BYTES

_HANDSHAKE_SECONDS = 10.0
_REPORT_SECONDS = 5.0
_CLOSE_SECONDS = 1.0
_DEFAULT_PORTS = {"ws": 80, "http": 80, "wss": 443, "https": 443}
_IDS_NAMED = 5

SpeechFaults = Callable[[], list[str]]


@dataclass(frozen=True, slots=True)
class _Finding:
    message: str
    is_fault: bool = True


async def check_before_calling(
    evaluation: Evaluation,
    planned: Plan,
    *,
    speech_faults: SpeechFaults | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[str]:
    """Return warnings, which keep nobody from calling.

    Raises PreflightError that lists every fault: an agent that can't be reached, or whose program
    does not exist; a record without turns to say; a missing speech engine; a judge that is needed
    and has no model or key (in `environment`, or os.environ), can't be reached or refuses the key;
    an output directory that can't be written to, or too little disk space for the calls of the
    plan.
    """
    findings = await asyncio.gather(
        _agent(evaluation.agent),
        asyncio.to_thread(_speech, speech_faults or missing_speech_engines),
        asyncio.to_thread(_disk, evaluation.run_directory, planned),
        _call_report(evaluation.agent),
        _judges(evaluation, environment),
    )
    found = [finding for each in (*findings, _scripts(planned)) for finding in each]
    faults = [finding.message for finding in found if finding.is_fault]
    if faults:
        raise PreflightError(*faults)
    return [finding.message for finding in found]


def missing_speech_engines() -> list[str]:
    """Return what is wrong with the speech engines, in a line each."""
    faults = []
    for check in (check_text_to_speech, default_speech_to_text):
        try:
            check()
        except SpeechEngineError as error:
            faults.append(str(error))
    return faults


async def _agent(agent: Agent) -> list[_Finding]:
    if agent.is_placeholder:
        return [
            _Finding(
                f"agent.url is only a placeholder ({agent.url}); put the agent's address into the "
                "evaluation's file, or set max_attempts to 0 there to judge what is there and "
                "call nobody"
            )
        ]
    if agent.command is None:
        return await _handshake(agent.url)
    program = agent.command[0]
    if find_program(program) is None:
        return [_Finding(f"agent.command: there is no program {program!r}; install or correct it")]
    return []


async def _handshake(url: str) -> list[_Finding]:
    """Open the agent's WebSocket and close it again, before it is told of any call."""
    where = f"the agent at {_host_and_port(url)}"
    try:
        connection = await connect(
            url,
            compression=None,
            open_timeout=_HANDSHAKE_SECONDS,
            close_timeout=_CLOSE_SECONDS,
            user_agent_header="orchestrator_assets",
        )
    except InvalidStatus as error:
        status = error.response.status_code
        if status in BUSY_STATUSES:
            return [_Finding(f"{where} is busy (HTTP {status})", is_fault=False)]
        return [_Finding(f"{where} refuses the WebSocket (HTTP {status}); is agent.url right?")]
    except (InvalidHandshake, InvalidURI, EOFError, ValueError) as error:
        return [_Finding(f"{where} does not speak WebSocket ({error}); is agent.url right?")]
    except TimeoutError:
        return [_Finding(f"{where} does not answer within {_HANDSHAKE_SECONDS:g} s")]
    except OSError as error:
        return [_Finding(f"{where} can't be reached: {error}; is it running?")]
    await connection.close()
    return []


async def _call_report(agent: Agent) -> list[_Finding]:
    if agent.call_report_url is None or agent.command is not None:
        # An agent with a command is not up yet, nor is what it reports with.
        return []
    parts = urlsplit(agent.call_report_url)
    try:
        async with asyncio.timeout(_REPORT_SECONDS):
            _, writer = await asyncio.open_connection(
                parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme]
            )
    except (OSError, TimeoutError, ValueError) as error:
        what = str(error) or f"no answer within {_REPORT_SECONDS:g} s"
        where = _host_and_port(agent.call_report_url)
        message = f"agent.call_report_url: {where} can't be reached ({what}); metrics will lack it"
        return [_Finding(message, is_fault=False)]
    writer.close()
    return []


async def _judges(evaluation: Evaluation, environment: Mapping[str, str] | None) -> list[_Finding]:
    try:
        # Their modules are imported, those of other packages among them.
        needed = await asyncio.to_thread(_needed_judges, evaluation)
    except ConfigurationError as error:
        return [_Finding(str(fault)) for fault in error.faults]
    found = await asyncio.gather(
        *(_judge(name, settings, environment) for name, settings in needed.items())
    )
    return [finding for each in found for finding in each]


def _needed_judges(evaluation: Evaluation) -> dict[str, JudgeSettings | None]:
    needed = {}
    if any(map(is_judged, create_metrics(evaluation.metrics))):
        needed["judge"] = evaluation.judge
    if evaluation.validation.user_speech_fidelity.judged_by is SpeechJudge.AUDIO_JUDGE:
        needed["audio_judge"] = evaluation.audio_judge
    return needed


async def _judge(
    name: str, settings: JudgeSettings | None, environment: Mapping[str, str] | None
) -> list[_Finding]:
    if settings is None:
        return [_Finding(f"{name} is needed, but not in the evaluation; add it there")]
    try:
        access = access_to(settings, environment=environment, name=name)
    except JudgeError as error:
        return [_Finding(str(error))]
    return [_Finding(each.message, each.is_fault) for each in await probe(access, name)]


def _host_and_port(url: str) -> str:
    """Return where a URL leads, without the secrets it may hold."""
    parts = urlsplit(url)
    try:
        return f"{parts.hostname}:{parts.port or _DEFAULT_PORTS[parts.scheme]}"
    except ValueError:  # The port is no number, or none that there is.
        return parts.netloc.rpartition("@")[2]


def _speech(faults: SpeechFaults) -> list[_Finding]:
    return [_Finding(fault) for fault in faults()]


def _scripts(planned: Plan) -> list[_Finding]:
    """A scripted caller without words would sit the call out and could not fail at it."""
    tasks = planned.with_step(Step.CALL)
    wordless = list(
        dict.fromkeys(each.task.record.id for each in tasks if not each.task.record.turns)
    )
    if not wordless:
        return []
    named = ", ".join(map(repr, wordless[:_IDS_NAMED]))
    more = f" and {len(wordless) - _IDS_NAMED} more" if len(wordless) > _IDS_NAMED else ""
    return [
        _Finding(
            f"no `turns` for the scripted caller to say in record {named}{more}; write them, or "
            "choose other records by record_ids"
        )
    ]


def _disk(directory: Path, planned: Plan) -> list[_Finding]:
    for each in (directory, *directory.parents):
        if each.exists() and not each.is_dir():
            return [_Finding(f"{each} is in the way: it is a file; choose another output_dir")]
    findings = []
    try:
        with tempfile.TemporaryFile(dir=existing_part(directory)):
            pass
    except OSError as error:
        findings.append(_Finding(f"{directory} can't be written to: {error.strerror}"))
    needed, free = planned.disk_needed_bytes, planned.disk_free_bytes
    if needed + KEPT_FREE_BYTES > free:
        findings.append(
            _Finding(
                f"{planned.calls} calls record about {needed / 1e6:,.0f} MB, and "
                f"{KEPT_FREE_BYTES / 1e6:,.0f} MB have to stay free, but only "
                f"{free / 1e6:,.0f} MB are free at {directory}; make room"
            )
        )
    return findings
