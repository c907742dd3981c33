"""Whether what a call left in its directory is fit to be evidence of it.

To what the recordings show by themselves (`audio.evidence`) comes what they must agree with: the
call's result (how long it was, on its own clock and on the wall's), its event log (when who began
to speak) and its transcript (is all speech told?).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator_assets.audio.evidence import AudioEvidence, Track, audio_evidence
from orchestrator_assets.audio.findings import Finding, FindingKind, Severity, Side, Stretch
from orchestrator_assets.audio.sounds import sounds_in
from orchestrator_assets.audio.track_findings import doubt, some_of
from orchestrator_assets.audio.wav import header_fault
from orchestrator_assets.call.call_length import length_findings, repair_findings
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    CLEAN_CALLER_AUDIO_FILE,
    MIXED_AUDIO_FILE,
    Event,
    TranscriptRow,
)
from orchestrator_assets.call.conversation_files import read_events, read_result, read_transcript
from orchestrator_assets.call.event_timing import (
    ONSET_PAUSE_SECONDS,
    EventTiming,
    agent_timing,
    caller_timing,
    silent_turns,
)
from orchestrator_assets.call.transcript_coverage import Coverage, SpokenRow, coverage
from orchestrator_assets.errors import ConversationFileError

_LARGEST_EVENT_OFFSET_MS = 18.0
"""A soft onset is 15 ms late, a recording that lost a frame 20 early."""
_FAULTY_EVENT_OFFSET_MS = 100.0
_ROLES = {Side.CALLER: "user", Side.AGENT: "assistant"}


@dataclass(frozen=True, slots=True)
class RecordingEvidence:
    """What the recordings of a call are worth, and what was measured on the way.

    Timing and coverage are by side; a side that could not be compared is left out.
    """

    audio: AudioEvidence
    timing: dict[Side, EventTiming]
    coverage: dict[Side, Coverage]
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What makes the recordings no evidence."""
        return tuple(each for each in self.findings if each.severity is Severity.FAULT)

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """What people should listen to."""
        return tuple(each for each in self.findings if each.severity is Severity.DOUBT)

    @property
    def numbers(self) -> dict[str, float]:
        """What was measured, by name; what could not be measured is left out."""
        measured = dict(self.audio.numbers)
        for side, timing in self.timing.items():
            measured[f"{side}_event_offset_ms"] = timing.offset_ms
            if timing.drift_ms is not None:
                measured[f"{side}_event_drift_ms"] = timing.drift_ms
        for side, covered in self.coverage.items():
            if covered.pace is not None:
                measured[f"{side}_syllables_per_second"] = covered.pace
        return measured


def recording_evidence(directory: Path) -> RecordingEvidence:
    """Return what the recordings in a call's directory are worth. Changes and raises nothing.

    A result, event log or transcript that is missing or damaged is not compared with; that they are
    is for others to tell.
    """
    audio = audio_evidence(
        directory / CALLER_AUDIO_FILE,
        directory / AGENT_AUDIO_FILE,
        clean_path=directory / CLEAN_CALLER_AUDIO_FILE,
    )
    events = _events(directory)
    timing = dict(_timing(events, audio))
    covered = dict(_coverage(directory, audio))
    findings = (
        *audio.findings,
        *_damaged_companions(directory),
        *_of_the_result(directory, audio),
        *_of_timing(timing),
        *_of_silent_turns(events, audio.caller),
        *(finding for side, each in covered.items() for finding in _of_coverage(side, each)),
    )
    return RecordingEvidence(audio, timing, covered, findings)


def _damaged_companions(directory: Path) -> Iterator[Finding]:
    """Yield damage to the recordings made beside the two tracks, which nobody else looks at."""
    for name, side in ((CLEAN_CALLER_AUDIO_FILE, Side.CALLER), (MIXED_AUDIO_FILE, Side.BOTH)):
        try:
            damage = header_fault(directory / name)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            damage = str(error)
        if damage is not None:
            yield doubt(FindingKind.DAMAGED_HEADER, side, f"{name} is damaged: {damage}")


def _of_the_result(directory: Path, audio: AudioEvidence) -> Iterator[Finding]:
    tracks = [track for track in (audio.caller, audio.agent) if track is not None]
    try:
        result = read_result(directory)
    except ConversationFileError:
        return
    yield from repair_findings(result)
    if tracks:
        yield from length_findings(result, max(track.duration_seconds for track in tracks))


def _events(directory: Path) -> list[Event]:
    try:
        return read_events(directory)
    except ConversationFileError:
        return []


def _timing(events: Sequence[Event], audio: AudioEvidence) -> Iterator[tuple[Side, EventTiming]]:
    if audio.caller is not None:
        caller = caller_timing(events, _caller_sounds(audio.caller))
        if caller is not None:
            yield Side.CALLER, caller
    if audio.agent is not None:
        agent = agent_timing(events, audio.agent.voiced)
        if agent is not None:
            yield Side.AGENT, agent


def _caller_sounds(track: Track) -> list[Stretch]:
    return sounds_in(track.samples, track.sample_rate_hz, joined_seconds=ONSET_PAUSE_SECONDS)


def _of_timing(timing: dict[Side, EventTiming]) -> Iterator[Finding]:
    for side, each in timing.items():
        drift_ms = each.drift_ms or 0.0
        worst = max(abs(each.offset_ms), abs(drift_ms))
        if worst <= _LARGEST_EVENT_OFFSET_MS:
            continue
        severity = Severity.FAULT if worst >= _FAULTY_EVENT_OFFSET_MS else Severity.DOUBT
        message = (
            f"the {side}'s speech is {each.offset_ms:+.0f} ms late beside the event log, and "
            f"drifts by {drift_ms:+.0f} ms over the call ({each.onsets} turns compared)"
        )
        measured = {"offset_ms": each.offset_ms, "drift_ms": drift_ms}
        kind = FindingKind.OFF_THE_EVENT_LOG
        yield Finding(kind, side, severity, message, measured=measured)


def _of_silent_turns(events: Sequence[Event], caller: Track | None) -> Iterator[Finding]:
    if caller is None or caller.is_silent:
        return
    for turn in silent_turns(events, _caller_sounds(caller)):
        message = f"the event log has the caller speak at {turn}, its track is silent there"
        yield doubt(FindingKind.SILENT, Side.CALLER, message, turn)


def _coverage(directory: Path, audio: AudioEvidence) -> Iterator[tuple[Side, Coverage]]:
    try:
        rows = read_transcript(directory)
    except ConversationFileError:
        return
    for side, track in ((Side.CALLER, audio.caller), (Side.AGENT, audio.agent)):
        if track is not None:
            yield side, coverage(_spoken(side, rows), track.voiced)


def _spoken(side: Side, rows: Iterable[TranscriptRow]) -> list[SpokenRow]:
    return [
        SpokenRow(row.content, row.start_seconds, row.end_seconds)
        for row in rows
        if row.role == _ROLES[side]
    ]


def _of_coverage(side: Side, covered: Coverage) -> Iterator[Finding]:
    yield from some_of(
        [
            doubt(
                FindingKind.NOT_TRANSCRIBED,
                side,
                f"the transcript has no words for what the {side} says at {stretch}",
                stretch,
            )
            for stretch in covered.untold
        ],
        "stretches without words",
    )
    for row in covered.thin:
        usual = "" if row.usual_pace is None else f", {row.usual_pace:.1f} otherwise"
        place = f"at {row}" if math.isfinite(row.end_seconds) else "as a whole"
        yield doubt(
            FindingKind.TOO_FEW_WORDS,
            side,
            f"the transcript of the {side} {place} has too few words: {row.pace:.1f} syllables a "
            f"second of voice{usual}; about {row.missing_seconds:.1f} s are missing",
            row if math.isfinite(row.end_seconds) else None,
            syllables_per_second=row.pace,
            missing_seconds=row.missing_seconds,
        )
