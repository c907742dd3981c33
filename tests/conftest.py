"""Fixtures every test may use. Speech engines take a second to load, so a session shares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech
from orchestrator_assets.call.speech.engines import default_speech_to_text, default_text_to_speech

EVA_DATA = Path(__file__).parents[1].parent / "shared" / "eva"


@pytest.fixture(scope="session")
def text_to_speech() -> TextToSpeech:
    return default_text_to_speech()


@pytest.fixture(scope="session")
def speech_to_text() -> SpeechToText:
    return default_speech_to_text()


@pytest.fixture(scope="session")
def eva_data() -> Path:
    if not EVA_DATA.is_dir():
        pytest.skip(f"EVA's public data is not at {EVA_DATA}")
    return EVA_DATA


@pytest.fixture(scope="session")
def engines(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> tuple[TextToSpeech, SpeechToText]:
    return text_to_speech, speech_to_text
