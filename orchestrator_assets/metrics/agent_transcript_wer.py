"""How much of what the agent meant to say could be understood on the line.

The agent's own text is compared with what a recogniser heard on its track, as a word error rate.
Both are put in one spelling first, digit by digit ("10" and "ten", "K7TQ2" and "K, seven, T, Q,
two"), and words that differ in their spaces alone are equal. What the agent had sent but never
played, since the caller interrupted it or the call ended, is left out (see `heard_speech`).
"""

from __future__ import annotations

from typing import Any

from orchestrator_assets.call.eva_call_report import is_evas
from orchestrator_assets.call.speech.comparison import missing_details
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.heard_speech import heard_of_agent
from orchestrator_assets.metrics.spoken_text import SpokenText, SpokenUtterance, WordError


class AgentTranscriptWer:
    """Word error rate over all of the agent's words; normalised, 1 - WER and at least 0.

    Details that were not heard (codes, numbers, dates, times, amounts) are listed apart. Skipped
    where nothing of what the agent sent was played, or where nothing tells what was heard.
    """

    name = "agent_transcript_wer"
    code_version = "1"
    needs = frozenset({Need.TRANSCRIPT, Need.AGENT_TEXT})
    # On a telephone line a recogniser mishears up to 7 % by itself, which 0.95 would not forgive.
    pass_threshold = 0.9

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a file is missing or damaged."""
        report = conversation.call_report
        texts = (report and report.agent_texts) or []
        heard = heard_of_agent(conversation)
        if not heard and is_evas(conversation.directory):
            reason = "EVA's events do not tell what its caller understood of the agent"
            return self._score(skipped=True, details={"reason": reason})
        spoken = SpokenText(texts, heard)
        utterances = [_details(number, each) for number, each in enumerate(spoken.utterances)]
        details: dict[str, Any] = {
            "num_words": spoken.num_played,
            "num_words_never_played": spoken.num_sent - spoken.num_played,
            **spoken.num_errors_by_kind(),
            "missing_details": [
                {"utterance": each["utterance"], "detail": detail, **_seconds(utterance)}
                for each, utterance in zip(utterances, spoken.utterances, strict=True)
                for detail in each["missing_details"]
            ],
            "utterances": utterances,
        }
        if spoken.num_played == 0:
            details["reason"] = "no word that the agent sent was played"
            return self._score(skipped=True, details=details)
        rate = spoken.num_errors / spoken.num_played
        return self._score(
            score=round(rate, 4), normalized_score=round(max(0.0, 1 - rate), 4), details=details
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)


def _details(number: int, utterance: SpokenUtterance) -> dict[str, Any]:
    played = utterance.played_text
    details: dict[str, Any] = {
        "utterance": number,
        "text": utterance.text,
        "heard": utterance.heard,
        **_seconds(utterance),
        "num_words": utterance.num_played,
        "errors": [_error_details(error, utterance) for error in utterance.errors],
        "missing_details": list(missing_details(played, utterance.heard)),
    }
    if played != utterance.text:
        details["played"] = played
    return details


def _error_details(error: WordError, utterance: SpokenUtterance) -> dict[str, Any]:
    place = error.heard_in or utterance
    return {"kind": error.kind.value, "meant": error.meant, "heard": error.heard, **_seconds(place)}


def _seconds(place: Any) -> dict[str, Any]:
    return {"start_seconds": place.start_seconds, "end_seconds": place.end_seconds}
