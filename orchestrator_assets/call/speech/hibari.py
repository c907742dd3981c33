"""Text to speech by hibari, whose voice is inside its wheel: nothing is downloaded."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

import numpy as np
import soxr
from numpy.typing import NDArray

from orchestrator_assets.audio.samples import normalize, to_pcm16
from orchestrator_assets.call.speech.base import Samples, Voice
from orchestrator_assets.call.speech.spoken_form import spoken_form
from orchestrator_assets.errors import SpeechEngineError

LEVEL_DBFS = -22.0
"""Root mean square level of everything that is said."""

_PACKAGE = "hibari"
_MODEL = Path("assets", "hibari.onnx")
_NOT_INSTALLED = "hibari-tts is not installed; run: pip install 'orchestrator-assets[speech]'"

_SENTENCE_PAUSE_SECONDS = 0.2
_WINDOW_SECONDS = 0.01
# What is quieter is lost in the noise of mu-law: nobody on a telephone hears it.
_SILENCE_BELOW_LOUDEST_DB = 45.0


def check_installed() -> None:
    """Raise SpeechEngineError if the engine or its model is missing, without loading either."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise SpeechEngineError(_NOT_INSTALLED)
    model = Path(found.submodule_search_locations[0]) / _MODEL
    if not model.is_file():
        raise SpeechEngineError(f"{model} is missing; install hibari-tts again")


class HibariTextToSpeech:
    """Speaks English with one voice, at any pitch from about 0.8 to 1.2.

    Safe to share between threads. What was said lately is kept, so that repeating it costs nothing.
    """

    def __init__(self, cached_utterances: int = 256) -> None:
        """Load the model (about a second). Raises SpeechEngineError where it is not installed."""
        try:
            from hibari import Hibari  # noqa: PLC0415 - an extra, and slow to import
        except ImportError as error:
            raise SpeechEngineError(_NOT_INSTALLED) from error
        self._engine = Hibari(threads=1)
        # The engine loads its dictionary on first use, which two threads must not do at once.
        self._engine.phonemize("ready")
        self._spoken = lru_cache(maxsize=cached_utterances)(self._speak)

    def synthesize(self, text: str, voice: Voice, sample_rate_hz: int) -> Samples:
        """Return `text` in its spoken form as mono PCM16 at `sample_rate_hz` and LEVEL_DBFS.

        No silence at the ends, 200 ms between sentences. The same arguments give the same samples,
        which are shared and therefore read-only; a text without a word gives none. Raises
        SpeechEngineError if the engine fails.
        """
        return self._spoken(spoken_form(text), voice, sample_rate_hz)

    def _speak(self, spoken: str, voice: Voice, sample_rate_hz: int) -> Samples:
        try:
            sentences = [
                trimmed
                for phonemes in self._engine.phonemize(spoken)
                # Of bare punctuation the engine makes a grunt.
                if any(sign.isalpha() for sign in phonemes)
                and (trimmed := self._sentence(phonemes, voice, sample_rate_hz)).size
            ]
        except Exception as error:
            raise SpeechEngineError(f"hibari cannot say {spoken!r}: {error}") from error
        samples = normalize(_joined(sentences, sample_rate_hz), LEVEL_DBFS)
        samples.setflags(write=False)
        return samples

    def _sentence(self, phonemes: str, voice: Voice, sample_rate_hz: int) -> Samples:
        audio: NDArray[np.float32] = self._engine.from_phonemes(
            phonemes, speed=voice.speed / voice.pitch, seed=voice.seed
        )
        # Spoken slower by the pitch, then played faster by it: higher, and as long as before.
        taken_at_hz = self._engine.sample_rate * voice.pitch
        return _trimmed(to_pcm16(soxr.resample(audio, taken_at_hz, sample_rate_hz)), sample_rate_hz)


def _joined(sentences: list[Samples], sample_rate_hz: int) -> Samples:
    pause = np.zeros(round(_SENTENCE_PAUSE_SECONDS * sample_rate_hz), dtype=np.int16)
    parts = [part for sentence in sentences for part in (pause, sentence)]
    return np.concatenate(parts[1:]) if parts else np.zeros(0, dtype=np.int16)


def _trimmed(samples: Samples, sample_rate_hz: int) -> Samples:
    """Return `samples` without what is inaudible beside their loudest part at either end."""
    window = round(_WINDOW_SECONDS * sample_rate_hz)
    windows = samples[: samples.size // window * window].reshape(-1, window).astype(np.float64)
    power = np.mean(np.square(windows), axis=1)
    if not power.any():
        return samples[:0]
    audible = np.flatnonzero(power > power.max() * 10 ** (-_SILENCE_BELOW_LOUDEST_DB / 10))
    return samples[audible[0] * window : (audible[-1] + 1) * window]
