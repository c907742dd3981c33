"""Speech to text by Moonshine tiny, whose English model is inside the wheel of moonshine-voice.

The package itself is never imported (it wants an audio device): its model files are run with ONNX
Runtime. Later releases than 0.1.0 hold no model, hence the pin.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.samples import FULL_SCALE
from orchestrator_assets.audio.voice_activity import SpeechRegion, speech_regions
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.errors import SpeechEngineError

SAMPLE_RATE_HZ = 16000

_PACKAGE = "moonshine_voice"
_MODEL_DIRECTORY = Path("assets", "tiny-en")
_ENCODER, _DECODER, _TOKENIZER = "encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin"
_INSTALL = "run: pip install 'orchestrator-assets[speech]'"

_BEGIN_TOKEN, _END_TOKEN = 1, 2
_HEADS, _HEAD_SIZE = 8, 36
_TOKENS_PER_SECOND = 8
_SPARE_TOKENS = 12
"""More than anybody speaks; a model that loops would not stop by itself."""
_WORD_BOUNDARY = "\u2581"

_MIN_SPEECH_SECONDS = 0.25
"""Of less than this the model makes words that nobody said; silence becomes "You"."""
_MAX_PASSAGE_SECONDS = 25.0
"""Beyond this the model makes more mistakes, and costs more."""
_PASSAGE_MARGIN_SECONDS = 0.1
_SILENCE_BEFORE_SECONDS, _SILENCE_AFTER_SECONDS = 0.2, 0.9
"""With silence around a passage the model neither drops its first word nor repeats its last."""
_PAUSE_SECONDS = 0.2


class MoonshineSpeechToText:
    """Writes down English speech. Safe to share between threads; the same audio, the same text."""

    sample_rate_hz = SAMPLE_RATE_HZ

    def __init__(self) -> None:
        """Load the model (a third of a second). Raises SpeechEngineError where it is missing."""
        try:
            import onnxruntime  # noqa: PLC0415 - an extra, and slow to import
        except ImportError as error:
            raise SpeechEngineError(f"onnxruntime is not installed; {_INSTALL}") from error
        directory = _model_directory()
        options = onnxruntime.SessionOptions()
        # One thread: the same text every time, and calls running beside it keep their core.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._encoder = onnxruntime.InferenceSession(str(directory / _ENCODER), options)
            self._decoder = onnxruntime.InferenceSession(str(directory / _DECODER), options)
            self._pieces = _read_tokenizer(directory / _TOKENIZER)
        except Exception as error:
            raise SpeechEngineError(f"{directory}: broken model files: {error}") from error
        self._caches = [output.name for output in self._decoder.get_outputs()][1:]

    def transcribe(self, samples: Samples) -> str:
        """Return what mono PCM16 `samples` at 16 kHz say; "" where less than 0.25 s is speech.

        Recordings longer than 25 s are cut at pauses. Raises SpeechEngineError if the model fails.
        """
        regions = speech_regions(
            samples, sample_rate_hz=SAMPLE_RATE_HZ, merge_gap_seconds=_PAUSE_SECONDS
        )
        if sum(region.duration_seconds for region in regions) < _MIN_SPEECH_SECONDS:
            return ""
        try:
            texts = [self._passage(passage) for passage in _passages(samples, regions)]
        except Exception as error:
            raise SpeechEngineError(f"Moonshine cannot transcribe: {error}") from error
        return " ".join(text for text in texts if text)

    def _passage(self, samples: Samples) -> str:
        audio = (samples.astype(np.float32) / FULL_SCALE)[np.newaxis, :]
        # The decoder scales the mask down to the encoder's frames itself: it wants one of samples.
        mask = np.ones(audio.shape, dtype=np.int64)
        hidden = self._encoder.run(None, {"input_values": audio, "attention_mask": mask})[0]
        tokens = self._tokens(hidden, mask, samples.size / SAMPLE_RATE_HZ)
        raw = b"".join(self._pieces[token] for token in tokens)
        return raw.decode("utf-8", errors="ignore").replace(_WORD_BOUNDARY, " ").strip()

    def _tokens(
        self, hidden: NDArray[np.float32], mask: NDArray[np.int64], seconds: float
    ) -> Iterator[int]:
        """Yield the most likely tokens, one by one, until the model ends the text."""
        empty = np.zeros((1, _HEADS, 0, _HEAD_SIZE), dtype=np.float32)
        inputs: dict[str, NDArray[Any]] = {_past(name): empty for name in self._caches}
        inputs["encoder_hidden_states"] = hidden
        inputs["encoder_attention_mask"] = mask
        token = _BEGIN_TOKEN
        for step in range(_SPARE_TOKENS + int(seconds * _TOKENS_PER_SECOND)):
            inputs["input_ids"] = np.array([[token]], dtype=np.int64)
            inputs["use_cache_branch"] = np.array([step > 0])
            logits, *caches = self._decoder.run(None, inputs)
            token = int(logits[0, -1].argmax())
            if token == _END_TOKEN:
                return
            yield token
            for name, cache in zip(self._caches, caches, strict=True):
                # What the encoder gave is computed once; later steps return it empty.
                if step == 0 or ".decoder." in name:
                    inputs[_past(name)] = cache


def _past(cache_name: str) -> str:
    return cache_name.replace("present", "past_key_values")


def _model_directory() -> Path:
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise SpeechEngineError(f"moonshine-voice is not installed; {_INSTALL}")
    directory = Path(found.submodule_search_locations[0]) / _MODEL_DIRECTORY
    missing = [
        name for name in (_ENCODER, _DECODER, _TOKENIZER) if not (directory / name).is_file()
    ]
    if missing:
        raise SpeechEngineError(
            f"{directory}: {', '.join(missing)} missing; only moonshine-voice 0.1.0 holds the "
            "model. Run: pip install 'moonshine-voice==0.1.0'"
        )
    return directory


def _read_tokenizer(path: Path) -> list[bytes]:
    """Return the text piece of every token.

    Each is stored behind its length: one byte below 128, otherwise two, low seven bits first.
    """
    data = path.read_bytes()
    pieces: list[bytes] = []
    position = 0
    while position < len(data):
        length = data[position]
        position += 1
        if length >= 128:
            length = length - 128 + data[position] * 128
            position += 1
        pieces.append(data[position : position + length])
        position += length
    return pieces


def _passages(samples: Samples, regions: list[SpeechRegion]) -> Iterator[Samples]:
    """Yield the stretches of `samples` to be transcribed one by one, cut at pauses."""
    start = regions[0].start_seconds
    end = start
    for region in regions:
        if region.end_seconds - start > _MAX_PASSAGE_SECONDS and end > start:
            yield from _cut(samples, start, end)
            start = region.start_seconds
        end = region.end_seconds
    yield from _cut(samples, start, end)


def _cut(samples: Samples, start_seconds: float, end_seconds: float) -> Iterator[Samples]:
    """Yield one stretch between silence; speech without any pause is cut by the clock."""
    first = max(0, round((start_seconds - _PASSAGE_MARGIN_SECONDS) * SAMPLE_RATE_HZ))
    last = min(samples.size, round((end_seconds + _PASSAGE_MARGIN_SECONDS) * SAMPLE_RATE_HZ))
    longest = round((_MAX_PASSAGE_SECONDS + 2 * _PASSAGE_MARGIN_SECONDS) * SAMPLE_RATE_HZ)
    silence = (
        round(_SILENCE_BEFORE_SECONDS * SAMPLE_RATE_HZ),
        round(_SILENCE_AFTER_SECONDS * SAMPLE_RATE_HZ),
    )
    for begin in range(first, last, longest):
        yield np.pad(samples[begin : min(begin + longest, last)], silence)
