"""`user_speech_fidelity` by a language model that listens.

It is asked about one turn at a time where the recording can be cut into turns: it then hears
nothing else, can't mistake one turn for another, and an answer that can't be used costs one turn's
question, not the call's. The audio is sent once either way, and the questions run side by side.
Where nothing says when a turn was spoken, it is asked about all of them at once, with the whole
recording of the caller.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from orchestrator_assets.audio.samples import resample
from orchestrator_assets.call.speech.comparison import canonical, details_in, missing_details
from orchestrator_assets.errors import JudgeError
from orchestrator_assets.evaluation import SpeechFidelityThresholds, SpeechJudge
from orchestrator_assets.judges.prompt import Prompt
from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation import speech_fidelity
from orchestrator_assets.validation.caller_account import ClaimedTurn
from orchestrator_assets.validation.evidence import CallerEvidence, CallerTrack
from orchestrator_assets.validation.result import USER_SPEECH_FIDELITY
from orchestrator_assets.validation.speech_fidelity import meant_turns, measure, sound_to_hear
from orchestrator_assets.validation.turn_rating import (
    WORST_RATING,
    Hearing,
    RatedTurn,
    fidelity_score,
    tracks_to_hear,
)
from orchestrator_assets.validation.turn_sound import TrackSound

if TYPE_CHECKING:
    from orchestrator_assets.judges.judge import Judge, Judgement

VERSION = "1"

_SAMPLE_RATE_HZ = 16_000
_HASH_DIGITS = 12


class TurnVerdict(BaseModel):
    """What the judge heard of a turn."""

    transcript: str
    wrong_entities: list[str]
    rating: Literal[1, 2, 3]
    reason: str


class NumberedVerdict(TurnVerdict):
    """What the judge heard of the turn with this number."""

    turn: int = Field(ge=0)


class CallVerdict(BaseModel):
    """What the judge heard of a whole call: each turn once."""

    turns: list[NumberedVerdict]


@dataclass(frozen=True, slots=True)
class _Measured:
    turn: ClaimedTurn
    sounds: tuple[TrackSound, ...]
    faults: tuple[str, ...]
    to_hear: tuple[CallerTrack, ...]


@cache
def turn_prompt() -> Prompt:
    """Return the question about one turn."""
    return Prompt.load(__package__, "user_speech_turn")


@cache
def call_prompt() -> Prompt:
    """Return the question about all turns of a call."""
    return Prompt.load(__package__, "user_speech_call")


def judged_version() -> str:
    """Return the version of the scores made here: it changes with either prompt."""
    hashes = [turn_prompt().hash_for(TurnVerdict), call_prompt().hash_for(CallVerdict)]
    digest = hashlib.sha256(json.dumps(hashes).encode("ascii")).hexdigest()[:_HASH_DIGITS]
    return f"{speech_fidelity.VERSION}.{VERSION}-{digest}"


async def judge_turns(
    record: Record | None,
    evidence: CallerEvidence,
    judge: Judge,
    thresholds: SpeechFidelityThresholds,
    directory: Path,
) -> MetricScore:
    """Return the mean rating of the turns said, each listened to by itself.

    See `score_speech_fidelity`: what is meant, left out and measured is the same. A turn whose
    sound is too quiet or clipped is rated by that, and nobody is asked about it. Raises JudgeError
    if any question goes without an answer.
    """
    meant = meant_turns(evidence, record)
    measured = await asyncio.gather(
        *(asyncio.to_thread(_measured, turn, evidence, thresholds) for turn in meant.turns)
    )
    questions = [(each.turn, track) for each in measured for track in each.to_hear]
    judgements = await _all_or_error(
        [_ask_about(turn, track, judge, directory) for turn, track in questions]
    )
    hearings: dict[ClaimedTurn, list[Hearing]] = {}
    for (turn, track), judgement in zip(questions, judgements, strict=True):
        heard = _hearing(track.file_name, turn, judgement.answer)
        hearings.setdefault(turn, []).append(heard)
    return fidelity_score(
        [
            RatedTurn(each.turn, tuple(hearings.get(each.turn, ())), each.sounds, each.faults)
            for each in measured
        ],
        left_out=meant.left_out,
        judged_by=SpeechJudge.AUDIO_JUDGE.value,
        version=judged_version(),
        prompt_hash=judgements[0].prompt_hash if judgements else None,
        use=JudgeUse.total(judgement.use for judgement in judgements),
    )


async def judge_call(
    turns: Sequence[ClaimedTurn], clean: CallerTrack, judge: Judge, directory: Path
) -> MetricScore:
    """Return the mean rating of turns that lie somewhere on the caller's clean track.

    Raises JudgeError if there is no answer, or one that does not rate each turn once.
    """
    listed = [{"turn": turn.turn, "text": turn.text} for turn in turns]
    judgement = await judge.ask(
        call_prompt(),
        {"turns": "\n".join(json.dumps(row, ensure_ascii=False) for row in listed)},
        CallVerdict,
        metric=USER_SPEECH_FIDELITY,
        directory=directory,
        audio=await asyncio.to_thread(
            resample, clean.samples, clean.sample_rate_hz, _SAMPLE_RATE_HZ
        ),
        audio_sample_rate_hz=_SAMPLE_RATE_HZ,
    )
    verdicts = _by_turn(judgement, turns)
    return fidelity_score(
        [
            RatedTurn(turn, (_hearing(clean.file_name, turn, verdicts[turn.turn]),))
            for turn in turns
        ],
        judged_by=SpeechJudge.AUDIO_JUDGE.value,
        version=judged_version(),
        prompt_hash=judgement.prompt_hash,
        use=judgement.use,
    )


def _measured(
    turn: ClaimedTurn, evidence: CallerEvidence, thresholds: SpeechFidelityThresholds
) -> _Measured:
    sounds, faults = measure(turn, evidence, thresholds)
    return _Measured(turn, sounds, faults, () if faults else tracks_to_hear(turn, evidence))


async def _ask_about(
    turn: ClaimedTurn, track: CallerTrack, judge: Judge, directory: Path
) -> Judgement[TurnVerdict]:
    entities = "\n".join(details_in(turn.text)) or "(none)"
    return await judge.ask(
        turn_prompt(),
        {"text": turn.text, "entities": entities},
        TurnVerdict,
        metric=USER_SPEECH_FIDELITY,
        directory=directory,
        audio=await asyncio.to_thread(sound_to_hear, turn, track, _SAMPLE_RATE_HZ),
        audio_sample_rate_hz=_SAMPLE_RATE_HZ,
    )


async def _all_or_error(
    questions: Sequence[Coroutine[Any, Any, Judgement[TurnVerdict]]],
) -> list[Judgement[TurnVerdict]]:
    """Return all answers; where one is missing, raise its JudgeError with what all have cost."""
    answers = await asyncio.gather(*questions, return_exceptions=True)
    judgements: list[Judgement[TurnVerdict]] = []
    unanswered: list[JudgeError] = []
    for answer in answers:
        if isinstance(answer, JudgeError):
            unanswered.append(answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            judgements.append(answer)
    if unanswered:
        first = unanswered[0]
        spent = [judgement.use for judgement in judgements]
        spent += [error.use for error in unanswered if error.use is not None]
        raise JudgeError(str(first), use=JudgeUse.total(spent), raw_answer=first.raw_answer)
    return judgements


def _by_turn(
    judgement: Judgement[CallVerdict], turns: Sequence[ClaimedTurn]
) -> Mapping[int, TurnVerdict]:
    rated = [verdict.turn for verdict in judgement.answer.turns]
    if sorted(rated) != [turn.turn for turn in turns]:
        raise JudgeError(
            f"{judgement.use.model}: its answer rates the turns {rated}, "
            f"but there are {len(turns)} turns, from 0",
            use=judgement.use,
            raw_answer=judgement.answer.model_dump_json(),
        )
    return {verdict.turn: verdict for verdict in judgement.answer.turns}


def _hearing(file_name: str, turn: ClaimedTurn, verdict: TurnVerdict) -> Hearing:
    heard = " ".join(verdict.transcript.split())
    missing = _wrong_entities(turn, heard, verdict.wrong_entities)
    return Hearing(
        file_name,
        heard,
        # A wrong entity is what matters most, however mild the judge is about it.
        rating=WORST_RATING if missing else verdict.rating,
        missing=missing,
        comment=" ".join(verdict.reason.split()) or "no comment",
    )


def _wrong_entities(turn: ClaimedTurn, heard: str, named: Sequence[str]) -> tuple[str, ...]:
    """Return what the judge names, as the turn writes it, and what its own transcript lacks."""
    written = {canonical(entity): entity for entity in details_in(turn.text)}
    wrong = [written.get(canonical(entity), entity.strip()) for entity in named if entity.strip()]
    return tuple(dict.fromkeys([*wrong, *missing_details(turn.text, heard)]))
