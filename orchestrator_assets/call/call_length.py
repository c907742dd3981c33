"""Holds the length of a call's recording against its result.

Our calls are recorded frame by frame: the recording is as long as the call, to a frame, and on the
wall clock the call takes as long as it is. A recording that is shorter has lost audio, or let
silence collapse; on the media clock only the count of frames can tell. EVA's results give the wall
clock's time with connecting and hanging up in it, and so does that of a call that was killed.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator_assets.audio.findings import Finding, FindingKind, Side
from orchestrator_assets.audio.track_findings import doubt, fault
from orchestrator_assets.call.conversation import ADOPTED_FINGERPRINT, ConversationResult

REPAIRED_FIELD = "audio_repaired"
REPAIRED_FILES_FIELD = "audio_repaired_files"

_FRAME_SECONDS = 0.02
_LATE_SECONDS = 0.5
_LATE_SHARE = 0.01
_AROUND_A_CALL_SECONDS = 10.0
_AROUND_A_CALL_SHARE = 0.2


def length_findings(result: ConversationResult, recorded_seconds: float) -> Iterator[Finding]:
    """Yield how a recording of `recorded_seconds` differs from what the call's result says."""
    if result.fingerprint == ADOPTED_FINGERPRINT:
        yield from _wall_clock_findings(result, recorded_seconds, loose=True)
        return
    difference = recorded_seconds - result.duration_seconds
    if abs(difference) > _FRAME_SECONDS + 1e-6:
        yield fault(
            FindingKind.WRONG_LENGTH,
            Side.BOTH,
            f"the recording is {recorded_seconds:.2f} s long, "
            f"the call took {result.duration_seconds:.2f} s",
            difference_seconds=difference,
        )
    if result.clock == "wall" and REPAIRED_FIELD not in (result.model_extra or {}):
        yield from _wall_clock_findings(result, recorded_seconds, loose=False)


def repair_findings(result: ConversationResult) -> Iterator[Finding]:
    """Yield which files were completed after the call had been killed, if it was."""
    extra = result.model_extra or {}
    if not extra.get(REPAIRED_FIELD):
        return
    files = extra.get(REPAIRED_FILES_FIELD)
    names = ", ".join(map(str, files)) if isinstance(files, list) and files else "its recordings"
    yield doubt(
        FindingKind.REPAIRED,
        Side.BOTH,
        f"the call was killed, and the headers of {names} were repaired from the files' sizes; up "
        "to a second of audio may be missing at the end",
    )


def _wall_clock_findings(
    result: ConversationResult, recorded_seconds: float, *, loose: bool
) -> Iterator[Finding]:
    elapsed = (result.ended_at - result.started_at).total_seconds()
    allowed = (
        max(_AROUND_A_CALL_SECONDS, _AROUND_A_CALL_SHARE * elapsed)
        if loose
        else max(_LATE_SECONDS, _LATE_SHARE * elapsed)
    )
    if abs(recorded_seconds - elapsed) <= allowed:
        return
    yield doubt(
        FindingKind.WALL_CLOCK,
        Side.BOTH,
        f"the recording is {recorded_seconds:.2f} s long, but by the wall clock the call took "
        f"{elapsed:.2f} s",
        difference_seconds=recorded_seconds - elapsed,
    )
