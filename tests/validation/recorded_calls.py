"""Small recorded calls, made for a test: events and WAV files as a real call leaves them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.audio.samples import resample
from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    CLEAN_CALLER_AUDIO_FILE,
    EVENTS_FILE,
)
from orchestrator_assets.call.speech.base import Samples

CLEAN_HZ = 16_000
LINE_HZ = 8_000
AGENT_HZ = 8_000


def voiced_noise(seconds: float, sample_rate_hz: int, seed: int = 0) -> Samples:
    """Noise from 200 to 1500 Hz, which a voice activity detector takes for speech."""
    count = round(seconds * sample_rate_hz)
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(size=count))
    frequencies = np.fft.rfftfreq(count, 1 / sample_rate_hz)
    spectrum[(frequencies < 200) | (frequencies > 1500)] = 0
    noise = np.fft.irfft(spectrum, count)
    samples: Samples = (noise / np.abs(noise).max() * 12_000).astype(np.int16)
    return samples


@dataclass
class RecordedCall:
    """A call in the making. Times are seconds from its start.

    The line carries what the clean track does, but for what `on_the_line` makes of it.
    """

    directory: Path
    duration_seconds: float = 20.0
    events: list[dict[str, Any]] = field(default_factory=list)
    on_the_line: Callable[[Samples], Samples] = lambda samples: samples
    clean: Samples = field(init=False)
    agent: Samples = field(init=False)

    def __post_init__(self) -> None:
        self.clean = np.zeros(round(self.duration_seconds * CLEAN_HZ), dtype=np.int16)
        self.agent = np.zeros(round(self.duration_seconds * AGENT_HZ), dtype=np.int16)

    def caller_says(
        self,
        turn: int,
        text: str,
        at: float,
        *,
        seconds: float = 1.0,
        sound: Samples | None = None,
        silent: bool = False,
        cut_off: bool = False,
    ) -> RecordedCall:
        if sound is None:
            sound = voiced_noise(seconds, CLEAN_HZ)
        if not silent:
            start = round(at * CLEAN_HZ)
            self.clean[start : start + sound.size] = sound[: self.clean.size - start]
        end = min(at + sound.size / CLEAN_HZ, self.duration_seconds)
        return self.caller_claims(turn, text, at, end, cut_off=cut_off)

    def caller_claims(
        self, turn: int, text: str, start: float, end: float, *, cut_off: bool = False
    ) -> RecordedCall:
        self._edge("audio_start", "simulated_user", start)
        data = {"text": text, "source": "script", "turn": turn, "cut_off": cut_off}
        data |= {"start_seconds": start, "end_seconds": end}
        self._event(type="user_speech", data=data, at=end)
        self._edge("audio_end", "simulated_user", end)
        return self

    def agent_says(self, at: float, seconds: float = 1.0) -> RecordedCall:
        start = round(at * AGENT_HZ)
        sound = voiced_noise(seconds, AGENT_HZ)
        self.agent[start : start + sound.size] = sound[: self.agent.size - start]
        self._edge("audio_start", "assistant", at)
        self._edge("audio_end", "assistant", at + seconds)
        return self

    def noted(self, kind: str, text: str, at: float) -> RecordedCall:
        self._event(type=kind, data={"text": text}, at=at)
        return self

    def ends(self, reason: str) -> Path:
        """Write everything, and return the directory."""
        details = {"reason": reason}
        self._event(type="connection_state", data={"state": "session_ended", "details": details})
        self.write_events()
        line = self.on_the_line(resample(self.clean, CLEAN_HZ, LINE_HZ))
        for name, samples, rate in (
            (CLEAN_CALLER_AUDIO_FILE, self.clean, CLEAN_HZ),
            (CALLER_AUDIO_FILE, decode_mulaw(encode_mulaw(line)), LINE_HZ),
            (AGENT_AUDIO_FILE, self.agent, AGENT_HZ),
        ):
            with WavWriter(self.directory / name, rate) as file:
                file.append(samples)
        return self.directory

    def write_events(self, name: str = EVENTS_FILE) -> Path:
        lines = [json.dumps(event, ensure_ascii=False) + "\n" for event in self.events]
        (self.directory / name).write_text("".join(lines), encoding="utf-8")
        return self.directory

    def _edge(self, edge: str, side: str, at: float) -> None:
        self._event(event_type=edge, user=side, audio_timestamp=1_700_000_000 + at)

    def _event(self, at: float = 0.0, **fields: Any) -> None:
        timestamp = 1_700_000_000_000 + round(at * 1000)
        sequence = len(self.events) + 1
        self.events.append({"timestamp": timestamp, "sequence": sequence, **fields})
