"""The speech engines an evaluation uses unless told otherwise: one of each a process."""

from __future__ import annotations

from functools import cache
from threading import Lock

from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech
from orchestrator_assets.call.speech.hibari import HibariTextToSpeech
from orchestrator_assets.call.speech.moonshine import MoonshineSpeechToText

_loading = Lock()


def default_text_to_speech() -> TextToSpeech:
    """Return the process's text to speech, loading it the first time (about a second).

    Raises SpeechEngineError, which says what to install, where it is missing.
    """
    with _loading:
        return _text_to_speech()


def default_speech_to_text() -> SpeechToText:
    """Return the process's speech to text, loading it the first time (a third of a second).

    Raises SpeechEngineError, which says what to install, where it is missing.
    """
    with _loading:
        return _speech_to_text()


@cache
def _text_to_speech() -> HibariTextToSpeech:
    return HibariTextToSpeech()


@cache
def _speech_to_text() -> MoonshineSpeechToText:
    return MoonshineSpeechToText()
