"""Recordings made for the purpose: who speaks when is known to the sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from made_tracks import HZ, Spans, track_of, voiced_noise
from told_calls import write_tracks

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.call.speech.base import Samples, Voice
from orchestrator_assets.call.speech.engines import default_text_to_speech
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.records import Record, Task

CALLER_PITCH, AGENT_PITCH = 1.1, 0.85


def recorded(directory: Path, caller: Samples, agent: Samples) -> Conversation:
    """A conversation of which there is nothing but two tracks at 8 kHz."""
    write_tracks(directory, caller, agent)
    return Conversation(Task(Record(id="talk")), directory)


def talking(directory: Path, caller: Spans, agent: Spans, *, seconds: float = 20.0) -> Conversation:
    """A conversation in which each side speaks from and to the given seconds."""
    return recorded(directory, speaking_track(caller, seconds), speaking_track(agent, seconds))


def speaking_track(spans: Spans, seconds: float = 20.0) -> Samples:
    return track_of([(start, voiced_noise(end - start)) for start, end in spans], seconds)


def said(text: str, pitch: float) -> Samples:
    """Speech at 8 kHz, as the telephone's codec leaves it."""
    speech = default_text_to_speech().synthesize(text, Voice(pitch=pitch), HZ)
    return decode_mulaw(encode_mulaw(speech))


def with_noise(track: Samples, level_dbfs: float, seed: int = 5) -> Samples:
    """The track with white noise on the line, through the telephone's codec."""
    noise = np.random.default_rng(seed).normal(0, 32_768 * 10 ** (level_dbfs / 20), track.size)
    noisy = (track + noise).clip(-32_768, 32_767).astype(np.int16)
    return decode_mulaw(encode_mulaw(noisy))
