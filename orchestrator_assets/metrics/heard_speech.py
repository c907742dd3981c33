"""What was heard of the agent, and where its speech was cut off before it had said all.

In our own calls that is the agent's side of the transcript, which a recogniser wrote from its
track. In EVA's calls it is what the simulated caller understood (`assistant_speech` events): EVA's
transcript is the agent's own text.

Speech is cut off where the caller talks when it ends, and where the call ends. What the agent had
sent by then was never played.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import numpy as np

from orchestrator_assets.audio.samples import FULL_SCALE
from orchestrator_assets.audio.voice_activity import SAMPLE_RATE_HZ, SpeechRegion
from orchestrator_assets.call.conversation import Event
from orchestrator_assets.call.eva_call_report import is_evas
from orchestrator_assets.call.eva_reading import call_started_at, eva_time
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.metrics.base import Need
from orchestrator_assets.metrics.conversation import Conversation

# As EVA calls the two sides, until its 2.0 and since.
_AGENT_SIDES = {"framework_agent", "assistant"}
_CALLER_SIDES = {"elevenlabs_user", "simulated_user"}
_AT_THE_END_SECONDS = 0.3
# An agent that had less time than this to answer may have been about to.
_TIME_TO_ANSWER_SECONDS = 2.0
# An agent that talks on for longer was not cut off by what the caller said.
_SLOWEST_YIELD_SECONDS = 2.0
# Before a turn of the caller, a sound this near to it may be a reply that came at the same time.
_SAME_TIME_SECONDS = 0.5
# Rows of the transcript may miss as much at their edges.
_ROW_MARGIN_SECONDS = 0.3
_AUDIBLE_DBFS = -45.0


class Cut(StrEnum):
    """What became of the rest of what the agent had sent, where its speech ends."""

    NONE = "none"
    UTTERANCE = "utterance"
    """The rest of the utterance was dropped; the next one could have been heard."""
    QUEUE = "queue"
    """All that was waiting was dropped: the agent's next words come before the caller's next."""


@dataclass(frozen=True, slots=True)
class HeardSpeech:
    """A stretch of the agent's speech, in seconds of the call. The text may be empty: a sound."""

    text: str
    start_seconds: float
    end_seconds: float
    cut: Cut = Cut.NONE


def heard_of_agent(conversation: Conversation) -> list[HeardSpeech]:
    """Return what was heard of the agent, in order.

    Raises ConversationFileError for a file that is missing or damaged.
    """
    if is_evas(conversation.directory):
        return _heard_in_events(conversation.events)
    rows = conversation.transcript
    heard = [
        HeardSpeech(row.content, row.start_seconds, row.end_seconds)
        for row in rows
        if row.role == "assistant"
    ]
    caller = [SpeechRegion(r.start_seconds, r.end_seconds) for r in rows if r.role == "user"]
    end_seconds = None
    if conversation.lacks(Need.AUDIO) is None:
        end_seconds = conversation.duration_seconds
        heard = [*heard, *_stifled(caller, heard, conversation.agent_track)]
    return _with_cuts(heard, caller, end_seconds)


def _stifled(
    caller: Sequence[SpeechRegion], heard: Sequence[HeardSpeech], agent_track: Samples
) -> Iterator[HeardSpeech]:
    """Yield the agent's sounds into which the caller spoke before they became words."""
    for turn in caller:
        first = max(0, round((turn.start_seconds - _SAME_TIME_SECONDS) * SAMPLE_RATE_HZ))
        last = round(turn.end_seconds * SAMPLE_RATE_HZ)
        sound = np.abs(agent_track[first:last].astype(np.int32))
        for speech in heard:
            of_row = (
                round((speech.start_seconds - _ROW_MARGIN_SECONDS) * SAMPLE_RATE_HZ) - first,
                round((speech.end_seconds + _ROW_MARGIN_SECONDS) * SAMPLE_RATE_HZ) - first,
            )
            sound[max(0, of_row[0]) : max(0, of_row[1])] = 0
        audible = np.flatnonzero(sound > FULL_SCALE * 10 ** (_AUDIBLE_DBFS / 20))
        if audible.size:
            start, end = ((first + int(audible[at])) / SAMPLE_RATE_HZ for at in (0, -1))
            yield HeardSpeech("", start, max(end, turn.start_seconds))


def _with_cuts(
    heard: Sequence[HeardSpeech], caller: Sequence[SpeechRegion], call_end_seconds: float | None
) -> list[HeardSpeech]:
    speech = sorted(heard, key=lambda each: each.start_seconds)
    following = [*(each.start_seconds for each in speech[1:]), math.inf]
    found = [
        replace(each, cut=_cut(each, caller, next_seconds))
        for each, next_seconds in zip(speech, following, strict=False)
    ]
    if call_end_seconds is None:
        return found
    last_words = found[-1].end_seconds if found else 0.0
    last_turn = max((turn.end_seconds for turn in caller), default=0.0)
    if found and last_words >= call_end_seconds - _AT_THE_END_SECONDS:
        found[-1] = replace(found[-1], cut=Cut.QUEUE)
    elif last_words < last_turn and call_end_seconds - last_turn < _TIME_TO_ANSWER_SECONDS:
        found.append(HeardSpeech("", call_end_seconds, call_end_seconds, Cut.QUEUE))
    return found


def _cut(speech: HeardSpeech, caller: Sequence[SpeechRegion], next_seconds: float) -> Cut:
    if speech.text and not any(_cuts_off(turn, speech) for turn in caller):
        return Cut.NONE
    spoke_again = any(speech.end_seconds < turn.start_seconds < next_seconds for turn in caller)
    return Cut.UTTERANCE if spoke_again else Cut.QUEUE


def _cuts_off(turn: SpeechRegion, speech: HeardSpeech) -> bool:
    """Tell whether the caller talks, or has just begun to, when the agent falls silent."""
    barges_in = turn.start_seconds > speech.start_seconds
    until_seconds = turn.end_seconds + (_SLOWEST_YIELD_SECONDS if barges_in else 0.0)
    return turn.start_seconds < speech.end_seconds < until_seconds


def _heard_in_events(events: Sequence[Event]) -> list[HeardSpeech]:
    began = call_started_at(events)
    heard: list[HeardSpeech] = []
    agent, caller = ([*_audible(events, side, began)] for side in (_AGENT_SIDES, _CALLER_SIDES))
    for event in events:
        data, time = event.get("data"), eva_time(event.get("timestamp"))
        if event.get("type") != "assistant_speech" or not isinstance(data, dict) or time is None:
            continue
        if not isinstance(text := data.get("text"), str) or began is None:
            continue
        at = (time - began).total_seconds()
        earlier = heard[-1].end_seconds if heard else 0.0
        # The words come once they are understood; the sound has begun before.
        sound = [each for each in agent if earlier <= each.start_seconds < at]
        start = sound[0].start_seconds if sound else at
        end = min(sound[-1].end_seconds, at) if sound else at
        heard.append(HeardSpeech(text, round(start, 3), round(end, 3)))
    return _with_cuts(heard, caller, _session_end_seconds(events, began))


def _audible(
    events: Sequence[Event], sides: Collection[str], began: datetime | None
) -> Iterator[SpeechRegion]:
    start: float | None = None
    for event in events:
        moment = event.get("audio_timestamp")
        if event.get("user") not in sides or began is None or not isinstance(moment, int | float):
            continue
        seconds = moment - began.timestamp()
        if event.get("event_type") == "audio_start":
            start = seconds
        elif event.get("event_type") == "audio_end" and start is not None:
            yield SpeechRegion(start, seconds)
            start = None


def _session_end_seconds(events: Sequence[Event], began: datetime | None) -> float | None:
    time = eva_time(events[-1].get("timestamp")) if events else None
    return None if time is None or began is None else (time - began).total_seconds()
