"""What was said in a call whose caller followed no script, by the caller's own events.

EVA's caller is a language model. Its events hold what it meant to say, which is what it is to be
judged by; EVA's transcript holds what the agent understood of it, so it is only second choice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator_assets.call.conversation import TRANSCRIPT_FILE, Event
from orchestrator_assets.call.conversation_files import read_events, read_transcript
from orchestrator_assets.call.eva_reading import call_started_at, eva_time
from orchestrator_assets.validation.caller_account import ClaimedTurn

_CALLER_SPEECH = "user_speech"
_AGENT_SPEECH = "assistant_speech"
_CORRECTION = "user_speech_correction"
_DIRECTION = re.compile(r"\[[^\]\n]*\]")
"""Such as `[slow]`: told to the voice, not spoken."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something one side said. `turn` numbers the caller's from 0; the agent's have none.

    `at_seconds` is when it was noted, counted from the start of the call; `span_seconds` where it
    lies in the recordings, if anything says so.
    """

    text: str
    turn: int | None = None
    at_seconds: float | None = None
    span_seconds: tuple[float, float] | None = None
    cut_off: bool = False


def read_dialogue(directory: Path) -> list[Utterance]:
    """Return what both sides said, in order: by the events, else by the transcript.

    Raises ConversationFileError for a damaged file; a transcript may be missing.
    """
    said = utterances_in(read_events(directory))
    if _has_both_sides(said) or not (directory / TRANSCRIPT_FILE).is_file():
        return said
    rows = [
        Utterance(row.content, 0 if row.role == "user" else None, row.start_seconds)
        for row in read_transcript(directory)
        if row.content.strip()
    ]
    return _numbered(rows) if _has_both_sides(rows) else said


def utterances_in(events: Sequence[Event]) -> list[Utterance]:
    """Return what the events say was said, without directions to the voice.

    Where EVA corrected what an interrupted caller said, it is what was said in fact.
    """
    started_at = call_started_at(events)
    said: list[Utterance] = []
    for event in events:
        data = event.get("data")
        if not isinstance(data, Mapping):
            continue
        kind, text = event.get("type"), data.get("text")
        if kind == _CORRECTION:
            _correct(said, data)
        elif kind in (_CALLER_SPEECH, _AGENT_SPEECH) and isinstance(text, str):
            at = eva_time(event.get("timestamp"))
            known = at is not None and started_at is not None
            said.append(
                Utterance(
                    text,
                    0 if kind == _CALLER_SPEECH else None,
                    (at - started_at).total_seconds() if at and started_at and known else None,
                    _span_seconds(data),
                    data.get("cut_off") is True,
                )
            )
    return _numbered(said)


def spoken_turns(utterances: Iterable[Utterance]) -> tuple[ClaimedTurn, ...]:
    """Return the caller's turns; their seconds are NaN where nothing says when they were spoken."""
    return tuple(
        ClaimedTurn(
            said.turn, said.text, *(said.span_seconds or (math.nan, math.nan)), said.cut_off
        )
        for said in utterances
        if said.turn is not None
    )


def _correct(said: list[Utterance], data: Mapping[str, Any]) -> None:
    corrected = data.get("corrected")
    for index in reversed(range(len(said))):
        if said[index].turn is not None:
            if isinstance(corrected, str) and said[index].text == data.get("original"):
                said[index] = replace(said[index], text=corrected)
            return


def _numbered(said: Iterable[Utterance]) -> list[Utterance]:
    numbered: list[Utterance] = []
    turn = 0
    for each in said:
        text = " ".join(_DIRECTION.sub(" ", each.text).split())
        if not text:
            continue
        if each.turn is None:
            numbered.append(replace(each, text=text))
        else:
            numbered.append(replace(each, text=text, turn=turn))
            turn += 1
    return numbered


def _has_both_sides(said: Sequence[Utterance]) -> bool:
    return len({each.turn is None for each in said}) > 1


def _span_seconds(data: Mapping[str, Any]) -> tuple[float, float] | None:
    start, end = data.get("start_seconds"), data.get("end_seconds")
    if isinstance(start, bool) or isinstance(end, bool):
        return None
    if not isinstance(start, int | float) or not isinstance(end, int | float):
        return None
    return (float(start), float(end)) if 0 <= start <= end < math.inf else None
