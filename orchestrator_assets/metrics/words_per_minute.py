"""How fast the agent speaks."""

from __future__ import annotations

from typing import Any

from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.call.conversation import TranscriptRow
from orchestrator_assets.call.speech.spoken_form import spoken_form
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.regions import overlaps, total_seconds
from orchestrator_assets.metrics.talk import Talk

# A row's times are those of a coarser detector than the stretches of speech.
_ROW_MARGIN_SECONDS = 0.2
_SILENT = "the agent never spoke"


class WordsPerMinute:
    """The agent's words by the time in which it speaks, pauses of more than 0.3 s left out.

    Words are those of its side of the transcript, a number or code as the words it is read as.
    Neither faster nor slower is better: not normalised. Skipped where it said nothing.
    """

    name = "words_per_minute"
    code_version = "1"
    needs = frozenset({Need.AUDIO, Need.TRANSCRIPT})
    pass_threshold = None

    def compute(self, conversation: Conversation) -> MetricScore:
        """Return the score. Raises ConversationFileError if a file is missing or damaged."""
        talk = conversation.talk
        rows = [row for row in conversation.transcript if row.role == "assistant"]
        utterances = [_utterance(row, talk) for row in rows if row.end_seconds > row.start_seconds]
        # EVA's transcripts say when a row was written, not for how long it was spoken.
        seconds = sum(each["speech_seconds"] for each in utterances)
        if not utterances:
            seconds = total_seconds(talk.agent_stretches)
        num_words = sum(num_spoken_words(row.content) for row in rows)
        if not num_words or not seconds:
            reason = "the transcript has no words of the agent" if seconds else _SILENT
            return self._score(skipped=True, details={"reason": reason})
        return self._score(
            score=_rate(num_words, seconds),
            details={
                "num_words": num_words,
                "speech_seconds": round(seconds, 3),
                "utterances": utterances,
            },
        )

    def _score(self, **fields: Any) -> MetricScore:
        return MetricScore(name=self.name, version=self.code_version, **fields)


def num_spoken_words(text: str) -> int:
    """Return how many words it takes to say `text`: "K7TQ2" is five."""
    return sum(any(map(str.isalnum, word)) for word in spoken_form(text).split())


def _utterance(row: TranscriptRow, talk: Talk) -> dict[str, Any]:
    span = SpeechRegion(
        row.start_seconds - _ROW_MARGIN_SECONDS, row.end_seconds + _ROW_MARGIN_SECONDS
    )
    seconds = round(total_seconds(overlaps([span], talk.agent_stretches)), 3)
    num_words = num_spoken_words(row.content)
    return {
        "start_seconds": row.start_seconds,
        "end_seconds": row.end_seconds,
        "speech_seconds": seconds,
        "num_words": num_words,
        "words_per_minute": _rate(num_words, seconds) if seconds else None,
    }


def _rate(num_words: int, seconds: float) -> float:
    return round(num_words / seconds * 60, 1)
