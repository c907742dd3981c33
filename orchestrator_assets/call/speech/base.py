"""The two protocols every speech engine is reached through.

Engines block and are safe to share between threads: call them outside the event loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orchestrator_assets.audio.samples import Samples

__all__ = ["Samples", "SpeechToText", "TextToSpeech", "Voice"]


@dataclass(frozen=True, slots=True)
class Voice:
    """How to speak. Pitch and speed are relative to the engine's own voice (1.0)."""

    pitch: float = 1.0
    speed: float = 1.0
    seed: int = 0


class TextToSpeech(Protocol):
    """Speaks a text."""

    def synthesize(self, text: str, voice: Voice, sample_rate_hz: int) -> Samples:
        """Return `text` as mono PCM16 at `sample_rate_hz`, without silence at its ends.

        The text is what one would write: the engine puts codes, numbers and dates in spoken form.
        The same arguments give the same samples. Raises SpeechEngineError if the engine fails.
        """
        ...


class SpeechToText(Protocol):
    """Writes down what was said."""

    sample_rate_hz: int

    def transcribe(self, samples: Samples) -> str:
        """Return what mono PCM16 `samples` at `sample_rate_hz` say; "" where nobody speaks.

        Raises SpeechEngineError if the engine fails.
        """
        ...
