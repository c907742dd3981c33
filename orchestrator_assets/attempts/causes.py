"""Who is to blame for an attempt that did not pass: one table of rules."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator_assets.attempts.outcomes import Cause, Outcome
from orchestrator_assets.call.conversation import ConversationResult, EndReason
from orchestrator_assets.errors import ProviderBusyError, SpeechEngineError, TransportError

CAUSE_OF_OUTCOME: Mapping[Outcome, Cause] = {
    Outcome.VALIDATION_FAILED: Cause.CALLER,
    Outcome.TIME_LIMIT_EXCEEDED: Cause.AGENT,
    Outcome.UNJUDGED: Cause.JUDGE,
}

CAUSE_OF_UNFINISHED: Mapping[EndReason, Cause] = {
    EndReason.AGENT_HANGUP: Cause.AGENT,
    EndReason.TRANSPORT_ERROR: Cause.TRANSPORT,
    # The gate lets a silent agent pass, so here it was the caller that fell silent.
    EndReason.INACTIVITY_TIMEOUT: Cause.CALLER,
    # Time-limited calls are an outcome of their own, unless acceptance is switched off mid-way.
    EndReason.TIME_LIMIT_EXCEEDED: Cause.AGENT,
    EndReason.GOODBYE: Cause.HARNESS,
    EndReason.CANCELLED: Cause.HARNESS,
    EndReason.ERROR: Cause.HARNESS,
}

CAUSE_OF_EXCEPTION: Mapping[type[Exception], Cause] = {
    TransportError: Cause.TRANSPORT,
    ProviderBusyError: Cause.PROVIDER,
    SpeechEngineError: Cause.HARNESS,
}

_KNOWN_CAUSES = {cause.value for cause in Cause}


def cause_of(outcome: Outcome, result: ConversationResult | None) -> Cause | None:
    """Return who is to blame for an outcome; None if it passed.

    A cause that the call itself wrote into its result wins where the call did not finish.
    """
    if outcome is Outcome.PASSED:
        return None
    if outcome is not Outcome.NOT_FINISHED:
        return CAUSE_OF_OUTCOME[outcome]
    if result is None:
        return Cause.HARNESS
    if result.cause in _KNOWN_CAUSES:
        return Cause(result.cause)
    return CAUSE_OF_UNFINISHED[result.conversation_ended_reason]


def cause_of_exception(error: Exception) -> Cause:
    """Return who is to blame for an exception that a call raised."""
    for kind, cause in CAUSE_OF_EXCEPTION.items():
        if isinstance(error, kind):
            return cause
    return Cause.HARNESS
