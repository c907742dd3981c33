"""Maps what EVA left of a call onto our own models: `result.json` and `transcript.jsonl`.

EVA's result knows no attempt, no fingerprint and no clock; its times are local and say no zone; its
paths are those of the machine it ran on; and it ends by reasons of its own. All of that is mapped
here and nowhere else. What EVA wrote beyond that stays in the result under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PureWindowsPath
from typing import Any

from orchestrator_assets.call.conversation import (
    ADOPTED_FINGERPRINT,
    CLEAN_CALLER_AUDIO_FILE,
    EndReason,
    Event,
)

_QUARTER_HOUR_SECONDS = 15 * 60
_LARGEST_UTC_OFFSET_SECONDS = 14 * 3600
_PATH_ENDING = "_path"

_COMPLETED = {EndReason.GOODBYE, EndReason.AGENT_HANGUP, EndReason.INACTIVITY_TIMEOUT}
# `cause` holds values of `Cause`, which a call does not import.
_PROVIDER = "provider"
_REASONS: Mapping[str, tuple[EndReason, str | None]] = {
    # The simulator's own timer, which EVA's worker usually beats to it.
    "timeout": (EndReason.TIME_LIMIT_EXCEEDED, None),
    "assistant_disconnect": (EndReason.AGENT_HANGUP, None),
    "session_ended": (EndReason.ERROR, _PROVIDER),
    "elevenlabs_disconnect": (EndReason.ERROR, _PROVIDER),
}
_NO_REASON = {None, "", "unknown"}


def is_eva_result(content: Any) -> bool:
    """Tell whether the content of a `result.json` is EVA's rather than ours."""
    return isinstance(content, Mapping) and "fingerprint" not in content


def result_from_eva(
    content: Mapping[str, Any],
    directory: Path,
    events: Sequence[Event],
    *,
    task_id: str | None = None,
    attempt: int = 1,
) -> dict[str, Any]:
    """Return the fields of our result for EVA's; what it lacks is left to the model to complain of.

    Paths become the names of those files that lie in `directory`. `events` tell the time zone, and
    why the call ended where the result does not. EVA's own reason is kept in `eva_ended_reason`.
    """
    fields = {**content, **_times(content, events), **_paths(content, directory)}
    stated = content.get("conversation_ended_reason")
    known = _reason_in(events) if stated in _NO_REASON else stated
    reason, cause = _end_reason(known)
    if stated != reason.value:
        fields["eva_ended_reason"] = stated
        if reason is EndReason.ERROR:
            fields["error"] = content.get("error") or f"EVA's call ended by {known or 'unknown'}"
    if "completed" in content:
        # EVA calls a cancelled call completed, and one that ran into its time limit.
        fields["completed"] = content["completed"] is True and reason in _COMPLETED
    if isinstance(details := content.get("error_details"), Mapping):
        fields["error_details"] = _error_details(details)
    return {
        **fields,
        "output_dir": ".",
        "conversation_ended_reason": reason.value,
        "cause": cause,
        "task_id": task_id or str(content.get("record_id", "")),
        "attempt": attempt,
        "fingerprint": ADOPTED_FINGERPRINT,
        "clock": "wall",
    }


def _end_reason(stated: Any) -> tuple[EndReason, str | None]:
    if stated in _REASONS:
        return _REASONS[stated]
    try:
        return EndReason(stated), None
    except ValueError:
        return EndReason.ERROR, None


def _reason_in(events: Sequence[Event]) -> str | None:
    data = events[-1].get("data") if events else None
    details = data.get("details") if isinstance(data, Mapping) else None
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return reason if isinstance(reason, str) else None


def _error_details(details: Mapping[str, Any]) -> dict[str, Any]:
    texts = ("error_type", "error_source", "original_error")
    return {**details, **{name: str(details.get(name) or "unknown") for name in texts}}


def _paths(content: Mapping[str, Any], directory: Path) -> dict[str, str | None]:
    names = {
        field: PureWindowsPath(stated).name
        for field, stated in content.items()
        if field.endswith(_PATH_ENDING) and isinstance(stated, str)
    }
    names["audio_user_clean_path"] = CLEAN_CALLER_AUDIO_FILE
    if "elevenlabs_logs_path" in names:
        names.setdefault("user_simulator_logs_path", names["elevenlabs_logs_path"])
    return {
        field: name if name and (directory / name).is_file() else None
        for field, name in names.items()
    }


def _times(content: Mapping[str, Any], events: Sequence[Event]) -> dict[str, datetime]:
    times = {}
    for field in ("started_at", "ended_at"):
        try:
            times[field] = datetime.fromisoformat(content[field])
        except (KeyError, TypeError, ValueError):
            # Missing or no time at all: the model says so.
            continue
    started = times.get("started_at")
    offset = timedelta(0) if started is None else _utc_offset(started, events)
    return {
        field: time if time.tzinfo else time.replace(tzinfo=UTC) - offset
        for field, time in times.items()
    }


def _utc_offset(started: datetime, events: Sequence[Event]) -> timedelta:
    """Return how far a local time is ahead of UTC; the events beside it count from the epoch."""
    first = events[0].get("timestamp") if events else None
    if isinstance(first, bool) or not isinstance(first, int | float) or started.tzinfo:
        return timedelta(0)
    ahead = started.replace(tzinfo=UTC).timestamp() - first / 1000
    # Offsets are whole quarters of an hour; the rest is the time it took to connect.
    seconds = round(ahead / _QUARTER_HOUR_SECONDS) * _QUARTER_HOUR_SECONDS
    return timedelta(seconds=seconds if abs(seconds) <= _LARGEST_UTC_OFFSET_SECONDS else 0)


def is_eva_transcript_row(row: Any) -> bool:
    """Tell whether a line of a `transcript.jsonl` is EVA's rather than ours."""
    return isinstance(row, Mapping) and "start_seconds" not in row


def transcript_row_from_eva(row: Mapping[str, Any], started_at: datetime | None) -> dict[str, Any]:
    """Return the fields of our row for EVA's; what it lacks is left to the model to complain of.

    EVA writes one moment a row, as ISO time or as epoch milliseconds, and the side as `role` or as
    `type`. `end_seconds` is that moment too, since nothing says how long it took to say.
    """
    fields: dict[str, Any] = {"role": row.get("role") or row.get("type")}
    if isinstance(row.get("content"), str):
        fields["content"] = row["content"].strip()
    time = eva_time(row.get("timestamp"))
    if time is not None:
        seconds = 0.0 if started_at is None else max(0.0, (time - started_at).total_seconds())
        fields |= {
            "timestamp": time,
            "start_seconds": round(seconds, 3),
            "end_seconds": round(seconds, 3),
        }
    return fields


def call_started_at(events: Sequence[Event]) -> datetime | None:
    """Return when the session of a call started, by its events; else when the first came."""
    for event in events:
        data = event.get("data")
        if isinstance(data, Mapping) and data.get("state") == "session_started":
            return eva_time(event.get("timestamp"))
    return eva_time(events[0].get("timestamp")) if events else None


def eva_time(value: Any) -> datetime | None:
    """Return a time that EVA wrote as ISO text, or as epoch milliseconds; None for neither."""
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float) or (isinstance(value, str) and value.isdigit()):
            return datetime.fromtimestamp(int(value) / 1000, UTC)
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
