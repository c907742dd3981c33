"""Places the call of one attempt: speech before it, the live call, and all files after it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.call_log import call_log
from orchestrator_assets.call.call_report import CallReport, fetch_call_report, write_call_report
from orchestrator_assets.call.callers.scripted import PreparedTurn, ScriptedCaller, prepare_turns
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    AUDIT_LOG_FILE,
    CALLER_AUDIO_FILE,
    CLEAN_CALLER_AUDIO_FILE,
    EVENTS_FILE,
    FRAMEWORK_LOG_FILE,
    LOG_FILE,
    MIXED_AUDIO_FILE,
    RESULT_FILE,
    TRANSCRIPT_FILE,
    ConversationResult,
    EndReason,
    ErrorDetails,
)
from orchestrator_assets.call.eva_files import write_eva_files
from orchestrator_assets.call.live_call import LiveCall
from orchestrator_assets.call.recorder import CallRecorder
from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech
from orchestrator_assets.call.transcript import write_transcript
from orchestrator_assets.errors import ProviderBusyError, SpeechEngineError
from orchestrator_assets.evaluation import ClockKind, Evaluation
from orchestrator_assets.records import Task
from orchestrator_assets.redaction import redacted_url
from orchestrator_assets.store.atomic import write_text

_COMPLETED = {EndReason.GOODBYE, EndReason.AGENT_HANGUP, EndReason.INACTIVITY_TIMEOUT}

logger = logging.getLogger(__name__)


class CallPlacer:
    """Calls the agent as an evaluation says. One serves all attempts, concurrent ones too."""

    def __init__(
        self,
        evaluation: Evaluation,
        address: AgentAddress,
        text_to_speech: TextToSpeech,
        speech_to_text: SpeechToText,
    ) -> None:
        self._evaluation = evaluation
        self._address = address
        self._text_to_speech = text_to_speech
        self._speech_to_text = speech_to_text
        self._lockstep = evaluation.clock is ClockKind.MEDIA

    async def __call__(
        self,
        task: Task,
        attempt: int,
        directory: Path,
        slot: AbstractAsyncContextManager[object],
    ) -> ConversationResult:
        """Place one call and return its result, once all its files lie in `directory`.

        `slot` is held only while the call is live. A call that fails is a result, not an error.
        Raises ProviderBusyError if the agent asks to be called later, SpeechEngineError if the
        caller's speech can't be made, OSError if nothing can be written. When cancelled it hangs
        up, keeps what was recorded, and passes that on.
        """
        directory.mkdir(parents=True, exist_ok=True)
        with call_log(directory / LOG_FILE):
            url = redacted_url(self._address.url)
            logger.info("attempt %d of task %r at %s", attempt, task.id, url)
            turns = await asyncio.to_thread(
                prepare_turns, task.record, attempt, self._evaluation.caller, self._text_to_speech
            )
            recorder = CallRecorder(directory)
            call = self._call(task, turns, recorder)
            try:
                async with slot:
                    await call.hold(directory / EVENTS_FILE)
            finally:
                await recorder.close()
                # A busy agent was not called: the attempt is still to be made, and has no result.
                if not isinstance(call.error, ProviderBusyError):
                    result = await self._leave_files(task, attempt, directory, call)
            # Waiting for an answer that never comes costs seconds; once per agent is enough.
            self._lockstep = self._lockstep and not call.agent_refused_lockstep
            return result

    def _call(self, task: Task, turns: list[PreparedTurn], recorder: CallRecorder) -> LiveCall:
        evaluation = self._evaluation
        return LiveCall(
            url=self._address.url,
            parameters={**evaluation.agent.parameters, **task.record.agent_parameters},
            caller=ScriptedCaller(turns, evaluation.caller),
            recorder=recorder,
            time_limit_seconds=evaluation.conversation_time_limit_seconds,
            lockstep=self._lockstep,
        )

    async def _leave_files(
        self, task: Task, attempt: int, directory: Path, call: LiveCall
    ) -> ConversationResult:
        """Write the transcript, the agent's report and, last, the result."""
        report = None
        if call.end.reason is not EndReason.CANCELLED:
            report = await self._fetch_report(directory, call)
            await self._write_transcript(directory, call)
            await asyncio.to_thread(write_eva_files, directory, report)
        result = self._result(task, attempt, call, report)
        text = result.model_dump_json(indent=2) + "\n"
        await asyncio.to_thread(write_text, directory / RESULT_FILE, text)
        return result

    async def _fetch_report(self, directory: Path, call: LiveCall) -> CallReport | None:
        if call.call_sid is None or (url := self._address.call_report_url(call.call_sid)) is None:
            return None
        report = await fetch_call_report(url)
        if report is not None:
            await asyncio.to_thread(write_call_report, directory, report)
        return report

    async def _write_transcript(self, directory: Path, call: LiveCall) -> None:
        try:
            await asyncio.to_thread(
                write_transcript,
                directory,
                started_at=call.started_at,
                caller_turns=call.caller_turns,
                speech_to_text=self._speech_to_text,
            )
        except SpeechEngineError as error:
            # The recordings are there; a call is not thrown away for want of a transcript.
            logger.error("no transcript: %s", error)

    def _result(
        self, task: Task, attempt: int, call: LiveCall, report: CallReport | None
    ) -> ConversationResult:
        tools = [tool_call.name for tool_call in report.tool_calls or ()] if report else []
        return ConversationResult(
            record_id=task.record.id,
            completed=call.end.reason in _COMPLETED,
            error=None if call.end.reason in _COMPLETED else call.end.message,
            error_details=_error_details(call.error),
            started_at=call.started_at,
            ended_at=call.ended_at,
            duration_seconds=call.seconds,
            audio_user_path=CALLER_AUDIO_FILE,
            audio_assistant_path=AGENT_AUDIO_FILE,
            audio_mixed_path=MIXED_AUDIO_FILE,
            audio_user_clean_path=CLEAN_CALLER_AUDIO_FILE,
            transcript_path=TRANSCRIPT_FILE,
            audit_log_path=AUDIT_LOG_FILE,
            pipecat_logs_path=FRAMEWORK_LOG_FILE,
            conversation_log_path=LOG_FILE,
            user_simulator_logs_path=EVENTS_FILE,
            num_turns=len(call.caller_turns),
            num_tool_calls=len(tools),
            tools_called=list(dict.fromkeys(tools)),
            conversation_ended_reason=call.end.reason,
            task_id=task.id,
            attempt=attempt,
            fingerprint=self._evaluation.call_fingerprint(task.record),
            clock=call.clock.kind,
            call_sid=call.call_sid,
            time_limit_seconds=self._evaluation.conversation_time_limit_seconds,
            frame_lateness=call.clock.lateness(),
        )


def _error_details(error: Exception | None) -> ErrorDetails | None:
    if error is None:
        return None
    return ErrorDetails(
        error_type=type(error).__name__,
        error_source="call",
        original_error=str(error),
        stack_trace="".join(traceback.format_exception(error)),
    )
