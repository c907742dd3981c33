"""When somebody began to speak, by the event log and by the recording."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator_assets.audio.findings import Stretch
from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.call.conversation import EndReason, Event
from orchestrator_assets.call.conversation_files import read_events
from orchestrator_assets.call.event_log import AGENT_AUDIO, EventLog
from orchestrator_assets.call.event_timing import agent_timing, caller_timing, silent_turns

TURNS = [(2.0, 3.5), (8.0, 9.0), (14.0, 16.0), (21.0, 22.0), (30.0, 31.0), (38.0, 39.0)]


@pytest.fixture
def events(tmp_path: Path) -> list[Event]:
    """The caller's turns, and the agent's a second after each."""
    with EventLog(tmp_path / "user_simulator_events.jsonl", datetime.now(UTC)) as log:
        log.session_started(datetime.now(UTC))
        for index, (start, end) in enumerate(TURNS):
            log.caller_turn(index, "words", start, end, cut_off=False)
            log.audio_edge(end + 1, AGENT_AUDIO, "audio_start")
        log.session_ended(40.0, EndReason.GOODBYE)
    return read_events(tmp_path)


def sounds(late_seconds: list[float]) -> list[Stretch]:
    return [
        Stretch(start + late, end + late)
        for (start, end), late in zip(TURNS, late_seconds, strict=True)
    ]


def test_a_recording_that_agrees_is_neither_late_nor_drifting(events: list[Event]) -> None:
    timing = caller_timing(events, sounds([0.0] * 6))

    assert timing is not None
    assert (timing.onsets, timing.offset_ms, timing.drift_ms) == (6, 0, 0)


def test_frames_that_were_lost_on_the_way_are_a_drift(events: list[Event]) -> None:
    timing = caller_timing(events, sounds([0.0, 0.0, -0.02, -0.02, -0.06, -0.06]))

    assert timing is not None
    assert timing.offset_ms == pytest.approx(-20)
    assert timing.drift_ms == pytest.approx(-60)


def test_a_soft_onset_here_and_there_does_not_matter(events: list[Event]) -> None:
    timing = caller_timing(events, sounds([0.0, 0.0, 0.0, 0.0, 0.0, 0.02]))

    assert timing is not None
    assert timing.offset_ms == 0
    assert timing.drift_ms == pytest.approx(10)
    few = caller_timing(events[:6], sounds([0.0, 0.0, 0.02, 0.0, 0.0, 0.0]))
    assert few is not None
    assert few.drift_ms is None


def test_the_agents_onsets_are_compared_to_the_frame(events: list[Event]) -> None:
    speech = [SpeechRegion(end + 1, end + 1.5) for _, end in TURNS]
    # A pause within what was logged as one stretch.
    speech.insert(1, SpeechRegion(TURNS[0][1] + 1.8, TURNS[0][1] + 2.5))

    timing = agent_timing(events, speech)

    assert timing is not None
    assert timing.onsets == 6
    assert timing.offset_ms == pytest.approx(0, abs=1)
    assert timing.drift_ms == pytest.approx(0, abs=0.1)


def test_speech_after_a_pause_the_log_does_not_tell_is_no_onset(events: list[Event]) -> None:
    # The log has the agent begin at 4.5 s.
    talking_on = [SpeechRegion(3.0, 4.4), SpeechRegion(4.6, 5.5)]

    assert agent_timing(events, talking_on) is None


def test_a_turn_the_track_has_no_sound_of_is_silent(events: list[Event]) -> None:
    (silent,) = silent_turns(events, [*sounds([0.0] * 6)[:3], *sounds([0.0] * 6)[4:]])

    assert (silent.start_seconds, silent.end_seconds) == TURNS[3]


def test_nothing_in_common_is_not_compared(events: list[Event]) -> None:
    assert caller_timing(events, []) is None
    assert caller_timing([], sounds([0.0] * 6)) is None
    assert caller_timing(events, sounds([2.0] * 6)) is None
    assert agent_timing([], [SpeechRegion(1.0, 2.0)]) is None


def test_a_log_that_is_not_ours_or_makes_no_sense_is_passed_over(events: list[Event]) -> None:
    evas = [{**event, "provider": "elevenlabs"} for event in events]
    nonsense: list[object] = [None, [], {}, {"start_seconds": "2", "end_seconds": float("nan")}]
    odd: list[Event] = [
        {"provider": "orchestrator_assets", "type": "user_speech", "data": data}
        for data in nonsense
    ]
    assert caller_timing([*evas, *odd], sounds([0.0] * 6)) is None
    assert agent_timing(evas, [SpeechRegion(4.5, 6.0)]) is None
