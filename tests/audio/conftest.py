from __future__ import annotations

import pytest

from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.call.speech.base import Voice
from orchestrator_assets.call.speech.engines import default_text_to_speech


@pytest.fixture(scope="session")
def sentences() -> list[Samples]:
    """Three spoken sentences at 8 kHz, without silence at their ends."""
    texts = (
        "My booking code is K7TQ2.",
        "Could we do Friday at 2:15 p.m. instead?",
        "No, that is all. Thank you very much, goodbye.",
    )
    return [default_text_to_speech().synthesize(text, Voice(pitch=1.1), 8000) for text in texts]
