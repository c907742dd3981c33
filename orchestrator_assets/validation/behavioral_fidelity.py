"""`user_behavioral_fidelity`: did the scripted caller follow its script?

A script can be followed to the letter, so rules decide and no model is asked:

- the turns said are the record's, in its order, each at most once, with its entities (codes,
  dates, amounts), and audible on both recordings of the caller where claimed;
- a turn that was cut off is not said, and nothing is said that is no turn;
- a turn answers something the agent said, but for the first one where the agent did not greet, and
  those that are to barge in;
- when the caller hung up, all turns were said, a question at the end was answered, and anything
  else at the end was, or was waited for;
- when the call ended otherwise, the turns said are the first ones, none left out; and when it ended
  for the agent's silence, that lasted long enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator_assets.call.speech.comparison import details_in, missing_details
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.complaint import Complaint
from orchestrator_assets.validation.evidence import CallerEvidence
from orchestrator_assets.validation.result import USER_BEHAVIORAL_FIDELITY
from orchestrator_assets.validation.script_rules import (
    inaudible_turns,
    left_out,
    level_dbfs,
    unclaimed_speech,
    wrong_order,
    wrong_turns,
)
from orchestrator_assets.validation.timing_rules import (
    agent_seconds_before,
    early_hang_up,
    unasked_turns,
)
from orchestrator_assets.validation.turn_sound import finite

VERSION = "2"


def score_behavioral_fidelity(record: Record, evidence: CallerEvidence) -> MetricScore:
    """Return 1.0 if the caller followed the record's script, else 0.0.

    `details.reason` is one line for people, the first of `details.complaints`, which has them all
    with their times; `details.turns` has every turn of the script with `said`, and where it was
    spoken its times, its level on both recordings, for how long the agent spoke before it, and
    which of its entities it gave.
    """
    complaints = list(_complaints(record, evidence))
    score = 0.0 if complaints else 1.0
    return MetricScore(
        name=USER_BEHAVIORAL_FIDELITY,
        score=score,
        normalized_score=score,
        details={
            "reason": complaints[0].reason if complaints else "the caller followed its script",
            "judged_by": "rules",
            "ended_reason": evidence.ended_reason,
            "complaints": [complaint.details() for complaint in complaints],
            "turns": _turn_details(record, evidence),
        },
        version=VERSION,
    )


def _complaints(record: Record, evidence: CallerEvidence) -> Iterator[Complaint]:
    """Yield all that is wrong, what explains the rest first."""
    yield from wrong_turns(record, evidence)
    yield from inaudible_turns(evidence)
    yield from wrong_order(evidence)
    yield from left_out(record, evidence)
    yield from early_hang_up(record, evidence)
    yield from unasked_turns(record, evidence)
    yield from unclaimed_speech(evidence)


def _turn_details(record: Record, evidence: CallerEvidence) -> list[dict[str, Any]]:
    claims = {claim.turn: claim for claim in reversed(evidence.turns)}
    details = []
    for index, turn in enumerate(record.turns):
        claim = claims.get(index)
        row: dict[str, Any] = {"turn": index, "text": turn.say, "said": False}
        if claim is not None:
            not_said = missing_details(turn.say, claim.text)
            row |= {
                "said": not claim.cut_off,
                "start_seconds": claim.start_seconds,
                "end_seconds": claim.end_seconds,
                "cut_off": claim.cut_off,
                "sound_dbfs": finite(level_dbfs(claim, evidence.clean)),
                "line_dbfs": finite(level_dbfs(claim, evidence.line)),
                "agent_spoke_before_seconds": round(agent_seconds_before(evidence, claim), 2),
                "entities": [
                    {"text": text, "given": text not in not_said} for text in details_in(turn.say)
                ],
            }
        details.append(row)
    return details
