"""`user_behavioral_fidelity`: did the scripted caller follow its script?

A script can be followed to the letter, so rules decide and no model is asked:

- the turns said are the record's, in its order, each at most once, and audible where claimed;
- a turn that was cut off is not said;
- when the caller hung up, all turns were said, and a question at the end was answered;
- when the call ended otherwise, the turns said are the first ones, none left out.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

from orchestrator_assets.audio.samples import rms_dbfs
from orchestrator_assets.call.conversation import CLEAN_CALLER_AUDIO_FILE, EndReason
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.caller_account import ClaimedTurn
from orchestrator_assets.validation.evidence import CallerEvidence
from orchestrator_assets.validation.result import USER_BEHAVIORAL_FIDELITY

VERSION = "1"

_AUDIBLE_DBFS = -60.0
# Less than this is the tail of what the agent was saying before.
_SHORTEST_ANSWER_SECONDS = 0.2
_QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001 - full-width and Arabic ones are meant


def score_behavioral_fidelity(record: Record, evidence: CallerEvidence) -> MetricScore:
    """Return 1.0 if the caller followed the record's script, else 0.0.

    `details.reason` is one line for people; `details.turns` has every turn of the script with
    `said`, and where it was spoken `start_seconds`, `end_seconds`, `cut_off` and `sound_dbfs`.
    """
    complaint = (
        _wrong_turn(record, evidence)
        or _wrong_order(evidence)
        or _left_out(record, evidence)
        or _hung_up_early(record, evidence)
    )
    score = 0.0 if complaint else 1.0
    return MetricScore(
        name=USER_BEHAVIORAL_FIDELITY,
        score=score,
        normalized_score=score,
        details={
            "reason": complaint or "the caller followed its script",
            "ended_reason": evidence.ended_reason,
            "turns": _turn_details(record, evidence),
        },
        version=VERSION,
    )


def _wrong_turn(record: Record, evidence: CallerEvidence) -> str | None:
    for claim in evidence.turns:
        if not 0 <= claim.turn < len(record.turns):
            return f"the caller spoke turn {claim.turn}, which its script does not have"
        scripted = record.turns[claim.turn].say
        if claim.text.split() != scripted.split():
            return f"turn {claim.turn} was {claim.text!r}, but its script says {scripted!r}"
        # One that was cut off may have been so before its first sound.
        if not claim.cut_off and _level_dbfs(claim, evidence) <= _AUDIBLE_DBFS:
            span = f"{claim.start_seconds:.2f} to {claim.end_seconds:.2f} s"
            return (
                f"turn {claim.turn} is claimed from {span}, "
                f"but {CLEAN_CALLER_AUDIO_FILE} is silent there"
            )
    return None


def _wrong_order(evidence: CallerEvidence) -> str | None:
    for turn, times in Counter(claim.turn for claim in evidence.turns).items():
        if times > 1:
            return f"turn {turn} was said {times} times"
    for earlier, later in pairwise(evidence.turns):
        if later.turn < earlier.turn:
            return f"turn {later.turn} was said after turn {earlier.turn}"
    return None


def _left_out(record: Record, evidence: CallerEvidence) -> str | None:
    claims = {claim.turn: claim for claim in evidence.turns}
    hung_up = evidence.ended_reason == EndReason.GOODBYE
    said = {turn for turn, claim in claims.items() if not claim.cut_off}
    due = len(record.turns) if hung_up else max(said, default=-1) + 1
    for turn in range(due):
        if turn in said:
            continue
        if turn in claims:
            return f"turn {turn} was cut off"
        if turn > max(claims, default=-1):
            return f"the caller hung up before turn {turn}"
        return f"turn {turn} was left out"
    return None


def _hung_up_early(record: Record, evidence: CallerEvidence) -> str | None:
    if evidence.ended_reason != EndReason.GOODBYE or not evidence.turns:
        return None
    last = evidence.turns[-1]
    asks = record.turns[last.turn].say.rstrip().endswith(_QUESTION_MARKS)
    answer_seconds = evidence.agent_speech_seconds_after(last.end_seconds)
    if asks and answer_seconds < _SHORTEST_ANSWER_SECONDS:
        return f"the caller hung up before the agent had answered turn {last.turn}"
    return None


def _turn_details(record: Record, evidence: CallerEvidence) -> list[dict[str, Any]]:
    claims = {claim.turn: claim for claim in reversed(evidence.turns)}
    details = []
    for index, turn in enumerate(record.turns):
        claim = claims.get(index)
        row: dict[str, Any] = {"turn": index, "text": turn.say, "said": False}
        if claim is not None:
            level = _level_dbfs(claim, evidence)
            row |= {
                "said": not claim.cut_off,
                "start_seconds": claim.start_seconds,
                "end_seconds": claim.end_seconds,
                "cut_off": claim.cut_off,
                "sound_dbfs": round(level, 1) if math.isfinite(level) else None,
            }
        details.append(row)
    return details


def _level_dbfs(claim: ClaimedTurn, evidence: CallerEvidence) -> float:
    sound = evidence.sound_of(claim)
    return rms_dbfs(sound) if sound.size else -math.inf
