from __future__ import annotations

import time

from orchestrator_assets.call.clock import MediaClock, WallClock


async def test_the_wall_clock_keeps_an_absolute_schedule_after_a_late_frame() -> None:
    clock = WallClock()
    clock.start()
    started = time.monotonic()
    for frame in range(10):
        clock.frame_sent(frame)
        if frame == 3:
            time.sleep(0.07)
        await clock.frame_ended(frame)
    assert time.monotonic() - started >= 0.2
    lateness = clock.lateness()
    assert lateness is not None
    assert lateness.max_ms >= 45
    assert lateness.p50_ms < lateness.max_ms


async def test_a_frame_never_ends_early() -> None:
    clock = WallClock()
    clock.start()
    started = time.monotonic()
    for frame in range(5):
        await clock.frame_ended(frame)
        assert time.monotonic() - started >= (frame + 1) * 0.02 - 0.001


async def test_the_media_clock_advances_by_the_agents_acknowledgements_alone() -> None:
    waited_for = []

    async def acknowledge(frame: int) -> None:
        waited_for.append(frame)

    clock = MediaClock(acknowledge)
    clock.start()
    for frame in range(3):
        clock.frame_sent(frame)
        await clock.frame_ended(frame)
    assert waited_for == [0, 1, 2]
    assert clock.lateness() is None
    assert (clock.kind, WallClock().kind) == ("media", "wall")
