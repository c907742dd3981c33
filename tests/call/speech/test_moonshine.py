from __future__ import annotations

import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import Samples, resample
from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech, Voice
from orchestrator_assets.call.speech.comparison import character_error_rate
from orchestrator_assets.call.speech.moonshine import MoonshineSpeechToText
from orchestrator_assets.errors import SpeechEngineError

CALLER = Voice(pitch=1.1)
TEXTS = [
    "My booking code is K7TQ2.",
    "My patient number is 48213.",
    "Could I come in on Tuesday at 10:30 a.m.?",
    "You can reach me at 573-555-0110.",
    "Is it still $120 for a cleaning?",
    "No, that is all. Thank you very much, goodbye.",
]


def silence(seconds: float) -> Samples:
    return np.zeros(int(seconds * 16000), dtype=np.int16)


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_said_is_heard(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText, text: str
) -> None:
    heard = speech_to_text.transcribe(text_to_speech.synthesize(text, CALLER, 16000))
    assert character_error_rate(text, heard) == 0.0


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_said_is_heard_over_the_telephone(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText, text: str
) -> None:
    line = decode_mulaw(encode_mulaw(text_to_speech.synthesize(text, CALLER, 8000)))
    heard = speech_to_text.transcribe(resample(line, 8000, 16000))
    assert character_error_rate(text, heard) <= 0.05


def test_silence_around_speech_changes_nothing(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> None:
    spoken = text_to_speech.synthesize(TEXTS[0], CALLER, 16000)
    within = np.concatenate([silence(3), spoken, silence(5)])
    assert character_error_rate(TEXTS[0], speech_to_text.transcribe(within)) == 0.0


@pytest.mark.parametrize("seconds", [0.0, 0.01, 1.0, 40.0])
def test_silence_says_nothing(speech_to_text: SpeechToText, seconds: float) -> None:
    assert speech_to_text.transcribe(silence(seconds)) == ""


def test_a_click_and_a_breath_of_speech_say_nothing(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> None:
    click = silence(2)
    click[16000:16400] = np.random.default_rng(0).normal(0, 8000, 400).astype(np.int16)
    assert speech_to_text.transcribe(click) == ""
    breath = text_to_speech.synthesize(TEXTS[0], CALLER, 16000)[:3200]
    assert speech_to_text.transcribe(np.concatenate([silence(1), breath, silence(1)])) == ""


def test_a_long_recording_is_heard_in_full(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> None:
    sentences = [*TEXTS, *TEXTS]
    parts = [
        part
        for text in sentences
        for part in (text_to_speech.synthesize(text, CALLER, 16000), silence(1.5))
    ]
    track = np.concatenate(parts)
    assert track.size / 16000 > 40
    assert character_error_rate(" ".join(sentences), speech_to_text.transcribe(track)) < 0.05


def test_speech_without_a_pause_is_heard_beyond_25_seconds(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> None:
    spoken = text_to_speech.synthesize("I would like to move my appointment", CALLER, 16000)
    track = np.concatenate([spoken] * 20)
    assert track.size / 16000 > 26
    assert speech_to_text.transcribe(track).lower().count("appointment") >= 15


def test_the_same_audio_gives_the_same_text_in_every_thread(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> None:
    spoken = [text_to_speech.synthesize(text, CALLER, 16000) for text in TEXTS]
    alone = [speech_to_text.transcribe(samples) for samples in spoken]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(speech_to_text.transcribe, spoken * 2)) == alone * 2


def test_a_missing_runtime_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SpeechEngineError, match=r"pip install 'orchestrator-assets\[speech\]'"):
        MoonshineSpeechToText()


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SpeechEngineError, match="moonshine-voice is not installed"):
        MoonshineSpeechToText()


def test_a_release_without_the_model_is_named_with_the_one_that_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = ModuleSpec("moonshine_voice", None, is_package=True)
    package.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: package)
    with pytest.raises(SpeechEngineError, match=r"encoder_model\.ort.*moonshine-voice==0\.1\.0"):
        MoonshineSpeechToText()


def test_a_broken_model_file_is_reported_with_its_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    directory = tmp_path / "assets" / "tiny-en"
    directory.mkdir(parents=True)
    for name in ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin"):
        (directory / name).write_bytes(b"broken")
    package = ModuleSpec("moonshine_voice", None, is_package=True)
    package.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: package)
    with pytest.raises(SpeechEngineError, match="broken model files"):
        MoonshineSpeechToText()
