from __future__ import annotations

from orchestrator_assets.call.frames import MULAW_SILENCE
from orchestrator_assets.call.playout import PlayoutBuffer

SILENCE = MULAW_SILENCE * 160


def frame(value: int) -> bytes:
    return bytes([value]) * 160


def test_an_empty_buffer_plays_silence() -> None:
    assert PlayoutBuffer().take_frame().payload == SILENCE


def test_a_burst_is_played_a_frame_at_a_time_and_padded_at_its_end() -> None:
    playout = PlayoutBuffer()
    playout.add_media(frame(1) + frame(2) + bytes([3]) * 40)
    played = [playout.take_frame().payload for _ in range(4)]
    assert played == [frame(1), frame(2), bytes([3]) * 40 + MULAW_SILENCE * 120, SILENCE]


def test_a_mark_is_reached_only_when_the_audio_before_it_was_played() -> None:
    playout = PlayoutBuffer()
    playout.add_media(frame(1) + frame(2))
    playout.add_mark("middle")
    playout.add_media(frame(3))
    playout.add_mark("end")
    marks = [playout.take_frame().marks for _ in range(4)]
    assert marks == [(), ("middle",), ("end",), ()]


def test_a_mark_with_no_audio_before_it_is_reached_at_once() -> None:
    playout = PlayoutBuffer()
    playout.add_mark("now")
    assert playout.take_frame().marks == ("now",)


def test_clear_drops_the_audio_and_returns_the_marks_that_waited() -> None:
    playout = PlayoutBuffer()
    playout.add_media(frame(1) + frame(2))
    playout.add_mark("never reached")
    playout.take_frame()
    assert playout.clear() == ("never reached",)
    assert playout.take_frame().payload == SILENCE
    playout.add_media(frame(9))
    playout.add_mark("next")
    played = playout.take_frame()
    assert (played.payload, played.marks) == (frame(9), ("next",))


def test_paced_frames_with_jitter_are_played_without_a_gap() -> None:
    playout = PlayoutBuffer(prebuffer_frames=3)
    arrivals = {0: [1], 1: [2], 2: [], 3: [3, 4], 4: [5], 5: [], 6: [6]}
    played = []
    for tick in range(12):
        for value in arrivals.get(tick, []):
            playout.add_media(frame(value))
        played.append(playout.take_frame().payload[0])
    spoken = [value for value in played if value != MULAW_SILENCE[0]]
    first = played.index(1)
    assert spoken == [1, 2, 3, 4, 5, 6]
    assert played[first : first + 6] == spoken


def test_a_burst_is_not_held_back() -> None:
    playout = PlayoutBuffer(prebuffer_frames=3)
    playout.add_media(frame(1) * 3)
    assert playout.take_frame().payload == frame(1)


def test_a_lone_short_sound_is_played_after_the_hold() -> None:
    playout = PlayoutBuffer(prebuffer_frames=3)
    playout.add_media(frame(7))
    played = [playout.take_frame().payload for _ in range(5)]
    assert played == [SILENCE, SILENCE, SILENCE, frame(7), SILENCE]
