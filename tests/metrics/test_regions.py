from __future__ import annotations

import pytest

from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.metrics.regions import holds, joined, overlaps, total_seconds


def regions(*spans: tuple[float, float]) -> list[SpeechRegion]:
    return [SpeechRegion(start, end) for start, end in spans]


def test_pauses_up_to_a_length_are_bridged() -> None:
    found = joined(regions((0.0, 1.0), (1.7, 2.0), (2.71, 3.0)), 0.7)
    assert found == regions((0.0, 2.0), (2.71, 3.0))


@pytest.mark.parametrize(("moment", "bridged"), [(1.2, False), (1.0, False), (0.9, True)])
def test_a_pause_that_holds_a_given_moment_is_not_bridged(moment: float, bridged: bool) -> None:
    found = joined(regions((0.0, 1.0), (1.4, 2.0)), 0.7, apart=[moment])
    assert len(found) == (1 if bridged else 2)


def test_nothing_joined_or_overlapped_is_nothing() -> None:
    assert joined([], 0.7) == []
    assert overlaps([], regions((0.0, 1.0))) == overlaps(regions((0.0, 1.0)), []) == []
    assert total_seconds([]) == 0


def test_overlaps_are_what_both_lists_hold_in_order() -> None:
    first, second = regions((0.0, 2.0), (3.0, 5.0)), regions((1.0, 3.5), (4.5, 9.0))
    assert overlaps(first, second) == regions((1.0, 2.0), (3.0, 3.5), (4.5, 5.0))
    assert overlaps(second, first) == overlaps(first, second)


def test_regions_that_only_touch_do_not_overlap() -> None:
    assert overlaps(regions((0.0, 1.0)), regions((1.0, 2.0))) == []


def test_lengths_add_up() -> None:
    assert total_seconds(regions((0.0, 1.5), (2.0, 2.25))) == pytest.approx(1.75)


def test_a_region_holds_its_start_and_not_its_end() -> None:
    (region,) = regions((1.0, 2.0))
    assert [holds(region, at) for at in (0.99, 1.0, 1.99, 2.0)] == [False, True, True, False]
