"""Writes `user_simulator_events.jsonl`: what happened in a call, as it happens.

Lines are EVA's: a `type` with `data`, or an `event_type` with `user` and `audio_timestamp`. Times
are positions in the call plus its start, so that they agree with the recordings on either clock.
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from orchestrator_assets.call.conversation import EndReason

CALLER_AUDIO = "simulated_user"
AGENT_AUDIO = "assistant"
PROVIDER = "orchestrator_assets"
"""Who wrote a line."""


class EventLog:
    """An append-only file of events. Positions are seconds from the start of the call."""

    def __init__(self, path: Path, opened_at: datetime, *, events_before: int = 0) -> None:
        """Open an empty log, or go on with one that has `events_before` lines."""
        self._start_seconds = opened_at.timestamp()
        self._sequence = events_before
        mode = "a" if events_before else "w"
        # A lone surrogate becomes its JSON escape instead of an error.
        self._file = path.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def connection_state(self, at: float, state: str, **details: Any) -> None:
        """Note that the connection is now `connected`, `session_started` or `session_ended`."""
        self._typed(at, "connection_state", {"state": state, "details": details})

    def session_started(self, started_at: datetime) -> None:
        """Note that the first frame goes out now: positions count from here."""
        self._start_seconds = started_at.timestamp()
        self.connection_state(0.0, "session_started")

    def session_ended(self, at: float, reason: EndReason) -> None:
        """Note why the call ended; nothing comes after this line."""
        self.connection_state(at, "session_ended", reason=reason.value)

    def audio_edge(self, at: float, user: str, edge: Literal["audio_start", "audio_end"]) -> None:
        """Note where a side's speech starts or ends in the recording."""
        self._write(
            at,
            {"event_type": edge, "user": user, "audio_timestamp": self._start_seconds + at},
        )

    def caller_turn(
        self, turn: int, text: str, start_seconds: float, end_seconds: float, *, cut_off: bool
    ) -> None:
        """Note what the caller meant to say in a turn, and from when to when it was audible."""
        data = {
            "text": text,
            "source": "script",
            "turn": turn,
            "start_seconds": start_seconds,
            "end_seconds": end_seconds,
            "cut_off": cut_off,
        }
        self._typed(end_seconds, "user_speech", data)

    def error(self, at: float, message: str) -> None:
        """Note a fault of the transport or of the harness."""
        self._typed(at, "error", {"error": message})

    def close(self) -> None:
        """Flush to the disk and close."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def _typed(self, at: float, kind: str, data: dict[str, Any]) -> None:
        self._write(at, {"type": kind, "data": data})

    def _write(self, at: float, event: dict[str, Any]) -> None:
        self._sequence += 1
        line = {
            "timestamp": round((self._start_seconds + at) * 1000),
            "sequence": self._sequence,
            "provider": PROVIDER,
            **event,
        }
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()
