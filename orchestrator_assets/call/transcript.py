"""Makes `transcript.jsonl` after a call: the caller's script, and what a recogniser hears the
agent say on its own track."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from orchestrator_assets.audio.samples import resample
from orchestrator_assets.audio.voice_activity import SpeechRegion, speech_regions
from orchestrator_assets.audio.wav import read_wav
from orchestrator_assets.call.callers.base import SpokenTurn
from orchestrator_assets.call.conversation import AGENT_AUDIO_FILE, TRANSCRIPT_FILE, TranscriptRow
from orchestrator_assets.call.frames import frames_to_seconds
from orchestrator_assets.call.speech.base import Samples, SpeechToText
from orchestrator_assets.store.atomic import write_text

# Pauses between the sentences of one turn are shorter than this.
_TURN_GAP_SECONDS = 0.7
# Room left around a stretch of speech, so that the recogniser does not lose soft edges.
_MARGIN_SECONDS = 0.1


def write_transcript(
    directory: Path,
    *,
    started_at: datetime,
    caller_turns: Iterable[SpokenTurn],
    speech_to_text: SpeechToText,
) -> list[TranscriptRow]:
    """Write down both sides of the call in `directory`, by time. Blocking.

    Raises SpeechEngineError if the recogniser fails.
    """
    caller = [
        (frames_to_seconds(t.start_frame), frames_to_seconds(t.end_frame), t) for t in caller_turns
    ]
    samples, sample_rate_hz = read_wav(directory / AGENT_AUDIO_FILE)
    regions = speech_regions(samples, merge_gap_seconds=_TURN_GAP_SECONDS)
    rows = [
        TranscriptRow(
            timestamp=started_at + timedelta(seconds=start),
            role="user",
            content=turn.text,
            start_seconds=start,
            end_seconds=end,
            turn=turn.turn,
            interrupted=turn.cut_off,
        )
        for start, end, turn in caller
    ]
    for region in regions:
        text = speech_to_text.transcribe(
            _cut(samples, sample_rate_hz, region, speech_to_text.sample_rate_hz)
        )
        if text:
            rows.append(
                TranscriptRow(
                    timestamp=started_at + timedelta(seconds=region.start_seconds),
                    role="assistant",
                    content=text,
                    start_seconds=round(region.start_seconds, 3),
                    end_seconds=round(region.end_seconds, 3),
                    interrupted=any(
                        region.start_seconds < start < region.end_seconds for start, _, _ in caller
                    ),
                )
            )
    rows.sort(key=lambda row: row.start_seconds)
    lines = [row.model_dump_json(exclude_none=True) for row in rows]
    write_text(directory / TRANSCRIPT_FILE, "".join(f"{line}\n" for line in lines))
    return rows


def _cut(samples: Samples, from_hz: int, region: SpeechRegion, to_hz: int) -> Samples:
    first = max(0, round((region.start_seconds - _MARGIN_SECONDS) * from_hz))
    last = round((region.end_seconds + _MARGIN_SECONDS) * from_hz)
    return resample(samples[first:last], from_hz, to_hz)
