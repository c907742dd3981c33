"""Puts what was measured in the tracks of a call in words, where it is not as it should be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator_assets.audio.drift import Drift
from orchestrator_assets.audio.findings import Finding, FindingKind, Severity, Side, Stretch
from orchestrator_assets.audio.gaps import Witness, gaps_in
from orchestrator_assets.audio.levels import SILENCE_DBFS
from orchestrator_assets.audio.track import Track

_LENGTH_TOLERANCE_SECONDS = 0.02
"""A frame: where a process was killed between two appends, one track has one more."""
_LARGEST_DC_OFFSET = 0.01
_LEAST_SPEECH_OVER_NOISE_DB = 15.0
"""With less, voice detection fails."""
_LARGEST_DRIFT_MS = 10.0
"""Half a frame: one that is lost or doubled is noticed."""
_FAULTY_DRIFT_MS = 100.0
"""Response latencies are measured to 20 ms and judged by tenths of a second."""
_LEAST_CORRELATION = 0.5
"""Of two tracks of one voice, whatever the line does to it."""
_MOST_PLACES = 20
"""Of one kind and side; who has seen twenty needs no more."""


def fault(kind: FindingKind, side: Side, message: str, **measured: float) -> Finding:
    """Return a finding that makes the recordings no evidence."""
    return Finding(kind, side, Severity.FAULT, message, measured=measured)


def doubt(
    kind: FindingKind, side: Side, message: str, at: Stretch | None = None, **measured: float
) -> Finding:
    """Return a finding for people to listen to, `at` its place if it has one."""
    if at is None:
        return Finding(kind, side, Severity.DOUBT, message, measured=measured)
    start, end = round(at.start_seconds, 3), round(at.end_seconds, 3)
    return Finding(kind, side, Severity.DOUBT, message, start, end, measured)


def some_of(findings: Sequence[Finding], what: str) -> list[Finding]:
    """Return findings of one kind and side, by time; of very many only the longest."""
    if len(findings) <= _MOST_PLACES:
        return list(findings)
    longest = sorted(findings, key=_length, reverse=True)[:_MOST_PLACES]
    kept = sorted(longest, key=lambda each: each.start_seconds or 0.0)
    first = findings[0]
    more = len(findings) - len(kept)
    message = f"the {first.side}'s track has {more} more {what}, each shorter than these"
    return [*kept, Finding(first.kind, first.side, first.severity, message)]


def _length(finding: Finding) -> float:
    return (finding.end_seconds or 0.0) - (finding.start_seconds or 0.0)


def unequal_tracks(caller: Track, agent: Track) -> Iterator[Finding]:
    """Yield in what the two sides' tracks differ that should be the same."""
    if caller.sample_rate_hz != agent.sample_rate_hz:
        message = (
            f"the tracks have different sample rates ({caller.sample_rate_hz} Hz the caller's, "
            f"{agent.sample_rate_hz} Hz the agent's)"
        )
        yield fault(FindingKind.UNEQUAL_RATE, Side.BOTH, message)
    difference = caller.duration_seconds - agent.duration_seconds
    if abs(difference) > _LENGTH_TOLERANCE_SECONDS + 1e-9:
        message = (
            f"the tracks are not equally long ({caller.duration_seconds:.2f} s the caller's, "
            f"{agent.duration_seconds:.2f} s the agent's)"
        )
        yield fault(FindingKind.UNEQUAL_LENGTH, Side.BOTH, message, difference_seconds=difference)


def findings_of_levels(side: Side, track: Track) -> Iterator[Finding]:
    """Yield what is wrong with a track as a whole: silence, offset, noise."""
    levels = track.levels
    if track.is_silent and side is Side.CALLER:
        yield fault(FindingKind.SILENT, side, "the caller's track is silent")
    elif track.is_silent:
        # That may be what happened: an agent that never spoke.
        yield doubt(FindingKind.SILENT, side, "the agent's track is silent")
    if abs(levels.dc_offset) > _LARGEST_DC_OFFSET:
        message = f"the {side}'s track is offset by {levels.dc_offset:+.1%} of full scale (DC)"
        yield doubt(FindingKind.DC_OFFSET, side, message, dc_offset=levels.dc_offset)
    speech, noise = levels.speech_dbfs, levels.noise_floor_dbfs
    if not track.voiced or speech is None or noise is None or noise < SILENCE_DBFS:
        return
    if speech - noise < _LEAST_SPEECH_OVER_NOISE_DB:
        message = (
            f"the {side}'s track is noisy: its speech is only {speech - noise:.0f} dB above what "
            f"lies between ({noise:.0f} dBFS)"
        )
        yield doubt(FindingKind.NOISY, side, message, noise_floor_dbfs=noise)


def findings_in_time(
    side: Side, track: Track, other: Track | None, witness: Witness | None
) -> Iterator[Finding]:
    """Yield what is wrong at certain places: dropouts, clipping, speech that is too quiet."""
    gaps = gaps_in(
        track.samples,
        track.sample_rate_hz,
        other_side=() if other is None else other.voiced,
        witness=witness,
    )
    yield from some_of([_gap(side, gap) for gap in gaps], "dropouts")
    yield from some_of(
        [
            doubt(
                FindingKind.CLIPPED,
                side,
                f"the {side}'s track is clipped at {each} ({each.share:.1%} of it)",
                each,
                clipped_share=each.share,
            )
            for each in track.clipping.stretches
        ],
        "clipped stretches",
    )
    if track.is_silent:
        return
    yield from some_of(
        [
            doubt(
                FindingKind.TOO_QUIET,
                side,
                f"the {side} is too quiet at {each} ({each.speech_dbfs:.0f} dBFS)",
                each,
                speech_dbfs=each.speech_dbfs,
            )
            for each in track.quiet
        ],
        "stretches that are too quiet",
    )


def _gap(side: Side, gap: Stretch) -> Finding:
    milliseconds = 1000 * gap.duration_seconds
    message = f"the {side}'s track drops out for {milliseconds:.0f} ms at {gap.start_seconds:.2f} s"
    return doubt(FindingKind.GAP, side, message, gap, gap_ms=milliseconds)


def findings_of_drift(drift: Drift | None, caller: Track | None) -> Iterator[Finding]:
    """Yield how the caller's two tracks are apart."""
    if drift is None or caller is None:
        return
    if drift.correlation < _LEAST_CORRELATION:
        message = (
            "the caller's line track can't be aligned with its clean track (correlation "
            f"{drift.correlation:.2f}): they differ by more than a second, or in what is said"
        )
        yield doubt(FindingKind.UNALIGNED, Side.CALLER, message, correlation=drift.correlation)
        return
    over_the_call = drift.drift_ms_per_minute * caller.duration_seconds / 60
    worst = max(abs(drift.offset_ms), abs(over_the_call))
    if worst <= _LARGEST_DRIFT_MS:
        return
    severity = Severity.FAULT if worst >= _FAULTY_DRIFT_MS else Severity.DOUBT
    message = (
        f"the caller's line track is {drift.offset_ms:+.0f} ms late beside its clean track, and "
        f"drifts by {over_the_call:+.0f} ms over the call ({drift.drift_ms_per_minute:+.0f} ms "
        "per minute)"
    )
    measured = {
        "offset_ms": drift.offset_ms,
        "drift_ms": over_the_call,
        "drift_ms_per_minute": drift.drift_ms_per_minute,
    }
    yield Finding(FindingKind.DRIFT, Side.CALLER, severity, message, measured=measured)
