"""Records a call: four WAV files that share one time line.

Each frame adds 20 ms to every track, silence included, so all tracks are equally long and a
position in a file is a time of the call. Audio goes to the disk about once a second, from a thread
of its own, so a slow disk does not delay a live call and a killed process leaves all but the last
second.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from orchestrator_assets.audio.samples import mix
from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.callers.base import CallerFrame
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    CLEAN_CALLER_AUDIO_FILE,
    MIXED_AUDIO_FILE,
)
from orchestrator_assets.call.frames import (
    CLEAN_SAMPLE_RATE_HZ,
    FRAMES_PER_SECOND,
    WIRE_SAMPLE_RATE_HZ,
)
from orchestrator_assets.call.speech.base import Samples


class CallRecorder:
    """Writes the caller's, the agent's, the mixed (8 kHz) and the clean (16 kHz) track."""

    def __init__(self, directory: Path) -> None:
        self._caller = WavWriter(directory / CALLER_AUDIO_FILE, WIRE_SAMPLE_RATE_HZ)
        self._agent = WavWriter(directory / AGENT_AUDIO_FILE, WIRE_SAMPLE_RATE_HZ)
        self._mixed = WavWriter(directory / MIXED_AUDIO_FILE, WIRE_SAMPLE_RATE_HZ)
        self._clean = WavWriter(directory / CLEAN_CALLER_AUDIO_FILE, CLEAN_SAMPLE_RATE_HZ)
        self._pending: list[tuple[Samples, Samples, Samples]] = []
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="call-recorder")
        self._writes: list[asyncio.Future[None]] = []

    def add_frame(self, caller: CallerFrame, caller_as_sent: Samples, agent: Samples) -> None:
        """Append 20 ms to every track. `caller_as_sent` is what the wire's codec left of it."""
        self._pending.append((caller.clean, caller_as_sent, agent))
        if len(self._pending) >= FRAMES_PER_SECOND:
            self._flush()

    async def close(self) -> None:
        """Write what is pending and close the files. Raises OSError if any write failed."""
        self._flush()
        loop = asyncio.get_running_loop()
        try:
            await asyncio.gather(*self._writes)
        finally:
            await loop.run_in_executor(self._writer, self._close_files)
            self._writer.shutdown(wait=False)

    def _flush(self) -> None:
        if not self._pending:
            return
        frames, self._pending = self._pending, []
        loop = asyncio.get_running_loop()
        self._writes = [write for write in self._writes if not _succeeded(write)]
        self._writes.append(loop.run_in_executor(self._writer, self._write, frames))

    def _write(self, frames: list[tuple[Samples, Samples, Samples]]) -> None:
        clean, caller, agent = (np.concatenate(track) for track in zip(*frames, strict=True))
        self._clean.append(clean)
        self._caller.append(caller)
        self._agent.append(agent)
        self._mixed.append(mix(caller, agent))

    def _close_files(self) -> None:
        for file in (self._caller, self._agent, self._mixed, self._clean):
            file.close()


def _succeeded(write: asyncio.Future[None]) -> bool:
    return write.done() and not write.cancelled() and write.exception() is None
