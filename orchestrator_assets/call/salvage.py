"""Completes what a call left behind whose worker could not do so itself."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

from orchestrator_assets.audio.wav import read_wav, repair_wav
from orchestrator_assets.call.call_log import call_log
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    CLEAN_CALLER_AUDIO_FILE,
    EVENTS_FILE,
    LOG_FILE,
    MIXED_AUDIO_FILE,
    RESULT_FILE,
    ConversationResult,
    EndReason,
    ErrorDetails,
)
from orchestrator_assets.call.conversation_files import read_events, read_result
from orchestrator_assets.call.event_log import EventLog
from orchestrator_assets.call.remote_call import RemoteCall
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.store.atomic import write_text

_TRACKS = (CALLER_AUDIO_FILE, AGENT_AUDIO_FILE, MIXED_AUDIO_FILE, CLEAN_CALLER_AUDIO_FILE)
_CAUSE = "harness"

logger = logging.getLogger(__name__)


def salvage(
    call: RemoteCall, evaluation: Evaluation, reason: EndReason, message: str
) -> ConversationResult:
    """Complete the files of a call that was cut short for `reason`, and return its result.

    A result that the worker has finished wins, unless it is of a call that was cut short. The
    headers of unfinished recordings are completed in place; no sample is dropped, so tracks may
    differ by the last second. Blocks. Raises OSError if nothing can be written.
    """
    finished = _finished_result(call)
    if finished is not None and finished.conversation_ended_reason is not EndReason.CANCELLED:
        return finished
    call.directory.mkdir(parents=True, exist_ok=True)
    with call_log(call.directory / LOG_FILE):
        logger.error("%s", message)
        repaired = [name for name in _TRACKS if _repair(call.directory / name)]
        result = finished or _result_of_files(call, evaluation)
        changes = {
            "completed": False,
            "error": message,
            "conversation_ended_reason": reason,
            "cause": _CAUSE,
            "audio_repaired": bool(repaired),
            "audio_repaired_files": repaired,
            "error_details": ErrorDetails(
                error_type="WorkerLost", error_source="worker", original_error=message
            ),
        }
        result = ConversationResult.model_validate({**dict(result), **changes})
        _end_events(call, result)
        write_text(call.directory / RESULT_FILE, result.model_dump_json(indent=2) + "\n")
    return result


def _finished_result(call: RemoteCall) -> ConversationResult | None:
    try:
        result = read_result(call.directory)
    except ConversationFileError:
        return None
    of_this_call = result.task_id == call.task.id and result.attempt == call.attempt
    return result if of_this_call else None


def _repair(path: Path) -> bool:
    try:
        return repair_wav(path)
    except FileNotFoundError:
        return False
    except ValueError as error:
        logger.warning("%s", error)
        return False


def _result_of_files(call: RemoteCall, evaluation: Evaluation) -> ConversationResult:
    return ConversationResult(
        record_id=call.task.record.id,
        completed=False,
        started_at=call.began_at,
        ended_at=datetime.now(UTC),
        duration_seconds=max((_seconds(call.directory / name) for name in _TRACKS), default=0.0),
        audio_user_path=_if_there(call.directory, CALLER_AUDIO_FILE),
        audio_assistant_path=_if_there(call.directory, AGENT_AUDIO_FILE),
        audio_mixed_path=_if_there(call.directory, MIXED_AUDIO_FILE),
        audio_user_clean_path=_if_there(call.directory, CLEAN_CALLER_AUDIO_FILE),
        conversation_log_path=LOG_FILE,
        user_simulator_logs_path=_if_there(call.directory, EVENTS_FILE),
        conversation_ended_reason=EndReason.ERROR,
        task_id=call.task.id,
        attempt=call.attempt,
        fingerprint=evaluation.call_fingerprint(call.task.record),
        clock=evaluation.clock.value,
        time_limit_seconds=evaluation.conversation_time_limit_seconds,
    )


def _if_there(directory: Path, name: str) -> str | None:
    return name if (directory / name).exists() else None


def _seconds(path: Path) -> float:
    try:
        samples, sample_rate_hz = read_wav(path)
    except (FileNotFoundError, ValueError):
        return 0.0
    return len(samples) / sample_rate_hz


def _end_events(call: RemoteCall, result: ConversationResult) -> None:
    """Say in the call's events how it ended, a last line that was not finished taken out."""
    path = call.directory / EVENTS_FILE
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with path.open("r+b") as file:
            file.truncate(len(whole))
    try:
        events = read_events(call.directory)
    except ConversationFileError as error:
        logger.warning("%s", error)
        return
    last = events[-1] if events else {}
    if last.get("data", {}).get("state") == "session_ended":
        return
    with EventLog(path, result.started_at, events_before=len(events)) as log:
        log.error(result.duration_seconds, result.error or "")
        log.session_ended(result.duration_seconds, result.conversation_ended_reason)
