"""Arithmetic on stretches of time: what is joined, what overlaps, how long it is in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator_assets.audio.voice_activity import SpeechRegion

EDGE_SECONDS = 0.02
"""How far a measured edge may be off."""


def joined(
    regions: Iterable[SpeechRegion], pause_seconds: float, *, apart: Iterable[float] = ()
) -> list[SpeechRegion]:
    """Return ordered regions, those with at most `pause_seconds` between them made one.

    A pause that holds one of the moments `apart` (seconds) is never bridged.
    """
    moments = list(apart)
    found: list[SpeechRegion] = []
    for region in regions:
        if found and _is_one(found[-1], region, pause_seconds, moments):
            found[-1] = SpeechRegion(found[-1].start_seconds, region.end_seconds)
        else:
            found.append(region)
    return found


def _is_one(
    left: SpeechRegion, right: SpeechRegion, pause_seconds: float, apart: Sequence[float]
) -> bool:
    start, end = left.end_seconds, right.start_seconds
    # Times are sums of floats: a pause of exactly this length is bridged too.
    if end - start > pause_seconds + 1e-6:
        return False
    return not any(start - EDGE_SECONDS <= moment <= end + EDGE_SECONDS for moment in apart)


def overlaps(first: Iterable[SpeechRegion], second: Sequence[SpeechRegion]) -> list[SpeechRegion]:
    """Return, in order, what regions of both lists have in common."""
    common = [
        SpeechRegion(
            max(one.start_seconds, other.start_seconds), min(one.end_seconds, other.end_seconds)
        )
        for one in first
        for other in second
        if max(one.start_seconds, other.start_seconds) < min(one.end_seconds, other.end_seconds)
    ]
    return sorted(common, key=lambda region: region.start_seconds)


def total_seconds(regions: Iterable[SpeechRegion]) -> float:
    """Return how long the regions are together."""
    return sum(region.duration_seconds for region in regions)


def holds(region: SpeechRegion, seconds: float) -> bool:
    """Tell whether a moment lies inside the region."""
    return region.start_seconds <= seconds < region.end_seconds
