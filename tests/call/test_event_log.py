from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.event_log import CALLER_AUDIO, EventLog

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_events_have_evas_shape_and_count_from_the_start_of_the_call(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path, START) as events:
        events.connection_state(0.0, "connected", server_url="ws://x")
        events.session_started(START)
        events.audio_edge(1.5, CALLER_AUDIO, "audio_start")
        events.caller_turn(0, "Grüß Gott", 1.5, 2.5, cut_off=False)
        events.session_ended(4.0, EndReason.GOODBYE)
    lines = read(path)
    assert [line["sequence"] for line in lines] == [1, 2, 3, 4, 5]
    start_ms = round(START.timestamp() * 1000)
    assert [line["timestamp"] for line in lines] == [
        start_ms,
        start_ms,
        start_ms + 1500,
        start_ms + 2500,
        start_ms + 4000,
    ]
    assert lines[2]["audio_timestamp"] == START.timestamp() + 1.5
    assert lines[3]["data"] == {
        "text": "Grüß Gott",
        "source": "script",
        "turn": 0,
        "start_seconds": 1.5,
        "end_seconds": 2.5,
        "cut_off": False,
    }
    assert lines[-1]["data"] == {"state": "session_ended", "details": {"reason": "goodbye"}}
    assert "Grüß" in path.read_text(encoding="utf-8")


def test_events_are_on_disk_before_the_call_ends(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path, START) as events:
        events.session_started(START)
        assert len(read(path)) == 1


def test_a_lone_surrogate_in_a_text_is_kept_as_its_escape(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path, START) as events:
        events.caller_turn(0, "broken \ud800 text", 0, 1, cut_off=True)
    assert read(path)[0]["data"]["text"] == "broken \ud800 text"  # type: ignore[index]
