"""The caller's ear: buffers the agent's audio and plays it out frame by frame, as Twilio does."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from orchestrator_assets.call.frames import MULAW_SILENCE, WIRE_FRAME_SAMPLES


@dataclass(frozen=True, slots=True)
class PlayedFrame:
    """20 ms of the agent's audio (160 bytes of mu-law), and the marks its play-out reached."""

    payload: bytes
    marks: tuple[str, ...]


class PlayoutBuffer:
    """Agents may send audio in bursts or paced; either way it is heard at 20 ms a frame.

    After a pause, play-out starts once `prebuffer_frames` frames have arrived or as many frame
    times have passed, so that an agent that paces its frames is not chopped by a late one.
    """

    def __init__(self, prebuffer_frames: int = 0) -> None:
        self.prebuffer_frames = prebuffer_frames
        self._audio = bytearray()
        self._marks: deque[tuple[int, str]] = deque()
        self._played_bytes = 0
        self._flowing = False
        self._frames_held = 0

    @property
    def buffered_seconds(self) -> float:
        """Seconds of audio that have arrived and not been played."""
        return len(self._audio) / 8_000

    def add_media(self, payload: bytes) -> None:
        """Append mu-law audio, of any length."""
        self._audio += payload

    def add_mark(self, name: str) -> None:
        """Append a mark, reached once all audio added before it has been played."""
        self._marks.append((self._played_bytes + len(self._audio), name))

    def clear(self) -> tuple[str, ...]:
        """Drop what was not played yet; return the marks that were waiting, for their echo."""
        names = tuple(name for _, name in self._marks)
        self._audio.clear()
        self._marks.clear()
        self._flowing = False
        self._frames_held = 0
        return names

    def take_frame(self) -> PlayedFrame:
        """Play the next 20 ms: buffered audio, padded with silence where it runs out."""
        if self._audio and not self._flowing:
            self._flowing = self._may_start()
        chunk = b""
        if self._flowing:
            chunk = bytes(self._audio[:WIRE_FRAME_SAMPLES])
            del self._audio[:WIRE_FRAME_SAMPLES]
            self._played_bytes += len(chunk)
            self._flowing = bool(chunk)
        marks = []
        while self._marks and self._marks[0][0] <= self._played_bytes:
            marks.append(self._marks.popleft()[1])
        return PlayedFrame(chunk.ljust(WIRE_FRAME_SAMPLES, MULAW_SILENCE), tuple(marks))

    def _may_start(self) -> bool:
        buffered_frames = len(self._audio) // WIRE_FRAME_SAMPLES
        if buffered_frames >= self.prebuffer_frames or self._frames_held >= self.prebuffer_frames:
            self._frames_held = 0
            return True
        self._frames_held += 1
        return False
