"""How an attempt ended, from its result and the verdict on it (A4)."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_assets.attempts.causes import cause_of, cause_of_exception
from orchestrator_assets.attempts.outcomes import Cause, Outcome
from orchestrator_assets.call.conversation import ConversationResult, EndReason
from orchestrator_assets.validation.result import GATE, ValidationResult


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ended, who is to blame, and why, in one line."""

    outcome: Outcome
    cause: Cause | None
    reason: str
    validation: ValidationResult | None = None
    error: str | None = None


def is_time_limited(result: ConversationResult) -> bool:
    """Tell whether the call ran into its time limit."""
    return result.conversation_ended_reason is EndReason.TIME_LIMIT_EXCEEDED


def judge_gave_no_answer(validation: ValidationResult) -> bool:
    """Tell whether the verdict is open because a judge errored.

    It is not open where a call is rejected whatever the judge would have said.
    """
    reached = validation.gate_passed or validation.gate_bypassed
    return reached and bool(validation.errored_metrics) and not validation.failed_metrics


def classify(result: ConversationResult, validation: ValidationResult) -> Verdict:
    """Return how the attempt ended. A bypassed gate never makes it pass."""
    if judge_gave_no_answer(validation):
        outcome = Outcome.UNJUDGED
    elif not validation.gate_passed:
        limited = is_time_limited(result)
        outcome = Outcome.TIME_LIMIT_EXCEEDED if limited else Outcome.NOT_FINISHED
    elif validation.failed_metrics:
        outcome = Outcome.VALIDATION_FAILED
    else:
        outcome = Outcome.PASSED
    reason = _reason(outcome, result, validation)
    return Verdict(outcome, cause_of(outcome, result), reason, validation)


def harness_failure(what: str, error: BaseException) -> Verdict:
    """Return the verdict on an attempt that our own side spoilt."""
    text = describe(error)
    return Verdict(Outcome.NOT_FINISHED, Cause.HARNESS, f"{what}: {text}", error=text)


def call_failure(error: Exception) -> Verdict:
    """Return the verdict on an attempt whose call raised instead of ending."""
    text = describe(error)
    return Verdict(
        Outcome.NOT_FINISHED, cause_of_exception(error), f"the call failed: {text}", error=text
    )


def describe(error: BaseException) -> str:
    """Return an exception as one line: its type and its message."""
    message = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def _reason(outcome: Outcome, result: ConversationResult, validation: ValidationResult) -> str:
    match outcome:
        case Outcome.PASSED:
            return "the call ended properly and the caller did its part"
        case Outcome.UNJUDGED:
            return f"no answer from the judge of {_names(validation.errored_metrics, validation)}"
        case Outcome.VALIDATION_FAILED:
            return f"failed {_names(validation.failed_metrics, validation)}"
        case Outcome.TIME_LIMIT_EXCEEDED:
            return "the call ran into its time limit" + _played(validation)
        case Outcome.NOT_FINISHED:
            return _unfinished(result, validation)


def _played(validation: ValidationResult) -> str:
    if not validation.gate_bypassed:
        return ""
    if validation.passed:
        return "; the caller did its part"
    return f"; failed {_names(validation.failed_metrics, validation)}"


def _unfinished(result: ConversationResult, validation: ValidationResult) -> str:
    gate = validation.scores.get(GATE)
    said = None if gate is None else gate.error or gate.details.get("reason")
    reason = str(said) if said else f"the call ended by {result.conversation_ended_reason}"
    return f"{reason} ({result.error})" if result.error else reason


def _names(names: tuple[str, ...], validation: ValidationResult) -> str:
    return ", ".join(_name(name, validation) for name in names)


def _name(name: str, validation: ValidationResult) -> str:
    score = validation.scores.get(name)
    details = validation.failure_details.get(name) or (score.error if score else None)
    return f"{name} ({details})" if details else name
