"""When the caller speaks and hangs up, held against what it could hear of the agent.

The scripted caller answers when the agent's turn has ended, speaks first where nobody greets it,
barges in where its script says so, and hangs up when its last turn was answered or it has waited
long enough. All that is measured in the agent's recording, not taken from the caller's word.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator_assets.audio.voice_activity import ONSET_SECONDS, SpeechRegion
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.evaluation import Caller
from orchestrator_assets.records import Record, ScriptedTurn
from orchestrator_assets.validation.caller_account import ClaimedTurn
from orchestrator_assets.validation.complaint import Complaint, Rule
from orchestrator_assets.validation.evidence import CallerEvidence

SHORTEST_ANSWER_SECONDS = 0.2
"""Less than this is the tail of what the agent was saying before."""

# Positions are whole frames of 20 ms, and the last ones of a track may be missing.
_TOLERANCE_SECONDS = 0.1
_ROUNDING_SECONDS = 1e-6
_QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001 - full-width and Arabic ones are meant


def unasked_turns(record: Record, evidence: CallerEvidence) -> Iterator[Complaint]:
    """Yield turns that answer nothing, and those that come into the agent's speech or fail to."""
    heard_from = 0.0
    for index, claim in enumerate(evidence.turns):
        known = 0 <= claim.turn < len(record.turns)
        scripted = record.turns[claim.turn] if known else None
        if scripted is not None and scripted.barge_in_after_seconds is not None:
            reason = _barge_in_fault(scripted, claim, evidence, heard_from, is_first=index == 0)
        else:
            reason = _reply_fault(claim, evidence, heard_from, is_first=index == 0)
        if reason is not None:
            rule, text = reason
            yield Complaint(rule, text, claim.start_seconds, claim.end_seconds, claim.turn)
        heard_from = max(heard_from, claim.end_seconds)


def early_hang_up(record: Record, evidence: CallerEvidence) -> Iterator[Complaint]:
    """Yield where the caller hung up before the agent had a chance to act."""
    if evidence.ended_reason == EndReason.INACTIVITY_TIMEOUT:
        yield from _gave_up_early(evidence)
    if evidence.ended_reason != EndReason.GOODBYE or not evidence.turns:
        return
    end = evidence.duration_seconds
    speech_ended = evidence.agent.last_speech_seconds()
    if end - speech_ended < evidence.settings.end_of_turn_seconds - _TOLERANCE_SECONDS:
        reason = f"the caller hung up at {end:.2f} s, while the agent was speaking"
        yield Complaint(Rule.HUNG_UP_EARLY, reason, speech_ended, end)
    last = evidence.turns[-1]
    if evidence.agent.seconds_between(last.end_seconds, end) >= _shortest_answer():
        return
    waited = end - max(last.end_seconds, evidence.agent.last_audible_seconds())
    if _asks(record, last):
        reason = f"the caller hung up before the agent had answered turn {last.turn}"
    elif waited < evidence.settings.farewell_wait_seconds - _TOLERANCE_SECONDS:
        reason = (
            f"the caller hung up {waited:.2f} s after turn {last.turn}, "
            "before the agent had answered it"
        )
    else:
        return
    yield Complaint(Rule.HUNG_UP_EARLY, reason, last.end_seconds, end, last.turn)


def agent_seconds_before(evidence: CallerEvidence, claim: ClaimedTurn) -> float:
    """Return for how long the agent was audible between the caller's turn before and this one."""
    index = evidence.turns.index(claim)
    earlier = [turn.end_seconds for turn in evidence.turns[:index]]
    return evidence.agent.seconds_between(max(earlier, default=0.0), claim.start_seconds)


def _reply_fault(
    claim: ClaimedTurn, evidence: CallerEvidence, heard_from: float, *, is_first: bool
) -> tuple[Rule, str] | None:
    start = claim.start_seconds
    speech = evidence.agent.speech_at(start)
    # Within the pause before a reply the agent may go on, and nobody hears that coming.
    unheard_seconds = evidence.settings.reply_delay_seconds + _TOLERANCE_SECONDS
    if speech is not None and start - speech.start_seconds > unheard_seconds:
        into = start - speech.start_seconds
        return (
            Rule.INTERRUPTED_THE_AGENT,
            f"turn {claim.turn} began at {start:.2f} s, {into:.2f} s into the agent's speech",
        )
    if evidence.agent.seconds_between(heard_from, start) >= _shortest_answer():
        return None
    if not is_first:
        reason = (
            f"turn {claim.turn} began at {start:.2f} s, though the agent had said nothing "
            f"since {heard_from:.2f} s"
        )
        return Rule.UNASKED, reason
    patience = evidence.settings.speaks_first_after_seconds
    if start >= patience - _TOLERANCE_SECONDS:
        return None
    reason = (
        f"turn {claim.turn} began at {start:.2f} s, before the agent had said anything "
        f"(the caller speaks first after {patience:g} s)"
    )
    return Rule.UNASKED, reason


def _barge_in_fault(
    scripted: ScriptedTurn,
    claim: ClaimedTurn,
    evidence: CallerEvidence,
    heard_from: float,
    *,
    is_first: bool,
) -> tuple[Rule, str] | None:
    start = claim.start_seconds
    after = scripted.barge_in_after_seconds or 0.0
    turn = evidence.agent.turn_begun_before(start)
    if turn is None or not _barges_in(start, turn, after, evidence.settings):
        # An agent that falls silent before the caller would barge in is replied to.
        fault = _reply_fault(claim, evidence, heard_from, is_first=is_first)
        if fault is not None or turn is None:
            return fault
    spoke_seconds = turn.end_seconds - max(turn.start_seconds, heard_from)
    longest = after + ONSET_SECONDS + evidence.settings.reply_delay_seconds + _TOLERANCE_SECONDS
    if turn.end_seconds < start and spoke_seconds > longest:
        late = start - turn.end_seconds
        reason = (
            f"turn {claim.turn} was to begin {after:g} s into the agent's speech, "
            f"but began {late:.2f} s after its end"
        )
        return Rule.MISSED_BARGE_IN, reason
    return None


def _barges_in(start: float, turn: SpeechRegion, after: float, settings: Caller) -> bool:
    # For the caller the agent's turn is not over before it has been silent for so long.
    over = turn.end_seconds + settings.end_of_turn_seconds + _TOLERANCE_SECONDS
    return start <= over and start - turn.start_seconds >= after - _TOLERANCE_SECONDS


def _gave_up_early(evidence: CallerEvidence) -> Iterator[Complaint]:
    end = evidence.duration_seconds
    ends = [turn.end_seconds for turn in evidence.turns]
    silent_from = max(evidence.agent.last_audible_seconds(), *ends, 0.0)
    patience = evidence.settings.inactivity_timeout_seconds
    if end - silent_from < patience - _TOLERANCE_SECONDS:
        yield Complaint(
            Rule.GAVE_UP_EARLY,
            f"the caller gave the agent up after {end - silent_from:.2f} s of silence "
            f"(its inactivity timeout is {patience:g} s)",
            silent_from,
            end,
        )


def _asks(record: Record, claim: ClaimedTurn) -> bool:
    known = 0 <= claim.turn < len(record.turns)
    text = record.turns[claim.turn].say if known else claim.text
    return text.rstrip().endswith(_QUESTION_MARKS)


def _shortest_answer() -> float:
    return SHORTEST_ANSWER_SECONDS - _ROUNDING_SECONDS
