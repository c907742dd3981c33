"""The gate: did the call end properly? (A6)

It passes when the last event of the caller is `connection_state` / `session_ended` with reason
`goodbye`, or with reason `inactivity_timeout` and the caller's audio last: then the agent went
silent, which is the agent's failure and a valid, scored conversation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.conversation_files import read_events
from orchestrator_assets.call.event_log import CALLER_AUDIO
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.validation.caller_account import ended_reason, last_heard_side
from orchestrator_assets.validation.result import GATE

VERSION = "1"


def score_valid_end(directory: Path) -> MetricScore:
    """Return 1.0 if the call in `directory` ended properly, else 0.0.

    `details.reason` says why in one line. Missing and damaged events score 0.0: what can't be
    shown to have ended has not.
    """
    try:
        events = read_events(directory)
    except ConversationFileError as error:
        return rejected(str(error))
    ended = ended_reason(events)
    last_heard = last_heard_side(events)
    facts = {"ended_reason": ended, "last_audio_from": last_heard}
    if ended is None:
        return rejected("the last event does not end the call", **facts)
    if ended == EndReason.GOODBYE:
        return _score(1.0, "the caller said goodbye", facts)
    if ended == EndReason.INACTIVITY_TIMEOUT:
        if last_heard == CALLER_AUDIO:
            return _score(1.0, "the agent did not answer the caller's last turn", facts)
        return rejected("the caller fell silent, not the agent", **facts)
    return rejected(f"the call ended by {ended}", **facts)


def rejected(reason: str, **facts: Any) -> MetricScore:
    """Return the score of a call that does not count as finished."""
    return _score(0.0, reason, facts)


def _score(score: float, reason: str, facts: dict[str, Any]) -> MetricScore:
    return MetricScore(
        name=GATE,
        score=score,
        normalized_score=score,
        details={"ended_properly": score == 1.0, "reason": reason, **facts},
        version=VERSION,
    )
