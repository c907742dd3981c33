"""Judges a caller that followed no script, as far as there is something to judge it by.

An adopted conversation's caller was a language model, whatever script its record has now. What is
lacking makes a metric skipped, with the reason; never passed over in silence, and never errored,
since asking again would not help.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

from orchestrator_assets.call.conversation import ADOPTED_FINGERPRINT, CLEAN_CALLER_AUDIO_FILE
from orchestrator_assets.call.conversation_files import read_events, read_result
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.evaluation import SpeechJudge
from orchestrator_assets.judges.judges import Judges
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.caller_account import ClaimedTurn, ended_reason
from orchestrator_assets.validation.dialogue import (
    Utterance,
    read_dialogue,
    spoken_turns,
    utterances_in,
)
from orchestrator_assets.validation.evidence import read_caller_track
from orchestrator_assets.validation.judged_behavior import judge_behavior
from orchestrator_assets.validation.judged_speech import judge_call
from orchestrator_assets.validation.result import (
    UNJUDGED,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
)

_NO_SCRIPT = "the record has no script to compare with"
_ADOPTED = "the adopted run's caller followed no script"


def follows_no_script(record: Record, directory: Path) -> str | None:
    """Return why the caller of the conversation can't be held to a script; None if it can."""
    if is_adopted(directory):
        return _ADOPTED
    return None if record.turns else _NO_SCRIPT


def is_adopted(directory: Path) -> bool:
    """Tell whether the conversation is EVA's. False where there is no usable result to tell."""
    try:
        return read_result(directory).fingerprint == ADOPTED_FINGERPRINT
    except ConversationFileError:
        # Whoever reads the result for its own sake complains.
        return False


async def judge_unscripted_behavior(
    record: Record, directory: Path, judges: Judges | None, no_script: str
) -> MetricScore:
    """Let the evaluation's `judge` say whether the caller did its part, else skip it.

    Raises JudgeError if the judge gives no answer, ConversationFileError for a damaged file.
    """
    name = USER_BEHAVIORAL_FIDELITY
    if not record.goal:
        return _skipped(name, f"{no_script}, and the record has no goal to judge the caller by")
    if judges is None or not judges.reads:
        configure = "configure a language model (`judge`) in the evaluation to have it judged"
        return _skipped(name, f"{no_script}; {configure}", UNJUDGED)
    dialogue, ended = await asyncio.to_thread(_read_call, directory)
    if all(said.turn is None for said in dialogue):
        return _skipped(name, "neither events nor transcript hold what the caller said")
    return await judge_behavior(record, dialogue, ended, await judges.text(), directory)


async def judge_untimed_speech(
    directory: Path,
    turns: Sequence[ClaimedTurn],
    judged_by: SpeechJudge,
    judges: Judges | None,
    no_script: str,
) -> MetricScore:
    """Let the evaluation's `audio_judge` say whether the caller spoke as it meant, else skip it.

    `turns` are those it meant to speak; nothing says when it did. Raises JudgeError if the judge
    gives no answer.
    """
    if judged_by is not SpeechJudge.AUDIO_JUDGE or judges is None:
        reason = (
            f"{no_script}, and nothing says where in the recording its turns are; set "
            "validation.user_speech_fidelity.judged_by to audio_judge to have it judged"
        )
        return speech_skipped(reason, version=UNJUDGED)
    try:
        clean = await asyncio.to_thread(read_caller_track, directory, CLEAN_CALLER_AUDIO_FILE)
    except ConversationFileError as error:
        return speech_skipped(f"there is nothing to listen to: {error}")
    return await judge_call(turns, clean, await judges.audio(), directory)


def meant_by_its_events(directory: Path) -> tuple[ClaimedTurn, ...]:
    """Return the turns the caller's events say it meant to speak, timed or not. Blocking.

    Raises ConversationFileError for damaged events.
    """
    return spoken_turns(utterances_in(read_events(directory)))


def are_timed(turns: Sequence[ClaimedTurn]) -> bool:
    """Tell whether it is known of every turn when it was spoken."""
    return all(math.isfinite(turn.start_seconds) for turn in turns)


def speech_skipped(reason: str, *, version: str | None = None) -> MetricScore:
    """Return `user_speech_fidelity` as not to be judged here."""
    return _skipped(USER_SPEECH_FIDELITY, reason, version)


def _skipped(name: str, reason: str, version: str | None = None) -> MetricScore:
    return MetricScore(name=name, skipped=True, details={"reason": reason}, version=version)


def _read_call(directory: Path) -> tuple[list[Utterance], str | None]:
    return read_dialogue(directory), ended_reason(read_events(directory))
