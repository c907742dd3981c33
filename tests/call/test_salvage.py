"""What becomes of the files of a call whose worker is gone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.conversation import ConversationResult, EndReason
from orchestrator_assets.call.conversation_files import read_events, read_result
from orchestrator_assets.call.event_log import EventLog
from orchestrator_assets.call.remote_call import RemoteCall
from orchestrator_assets.call.salvage import salvage
from orchestrator_assets.evaluation import Agent, Evaluation
from orchestrator_assets.records import Record, Task

EVALUATION = Evaluation(name="test", data_set=Path("unused"), agent=Agent(url="ws://unused"))


def lost_call(directory: Path, attempt: int = 2) -> RemoteCall:
    return RemoteCall(0, Task(Record(id="ä")), attempt, directory)


def write_result(directory: Path, attempt: int, reason: EndReason) -> None:
    result = ConversationResult(
        record_id="ä",
        completed=True,
        started_at=datetime.now(UTC),
        ended_at=datetime.now(UTC),
        duration_seconds=3.0,
        conversation_ended_reason=reason,
        task_id="ä",
        attempt=attempt,
        fingerprint="",
        clock="media",
    )
    (directory / "result.json").write_text(result.model_dump_json(), encoding="utf-8")


async def test_a_finished_result_of_the_call_is_left_as_it_is(tmp_path: Path) -> None:
    write_result(tmp_path, attempt=2, reason=EndReason.GOODBYE)
    before = (tmp_path / "result.json").read_bytes()
    result = salvage(lost_call(tmp_path), EVALUATION, EndReason.ERROR, "lost")
    assert result.completed
    assert (tmp_path / "result.json").read_bytes() == before


async def test_a_result_of_another_attempt_does_not_stand_for_the_call(tmp_path: Path) -> None:
    write_result(tmp_path, attempt=1, reason=EndReason.GOODBYE)
    result = salvage(lost_call(tmp_path), EVALUATION, EndReason.ERROR, "lost")
    assert (result.attempt, result.error) == (2, "lost")
    assert read_result(tmp_path) == result


async def test_a_call_that_was_cut_short_keeps_what_its_worker_knew_of_it(tmp_path: Path) -> None:
    write_result(tmp_path, attempt=2, reason=EndReason.CANCELLED)
    result = salvage(lost_call(tmp_path), EVALUATION, EndReason.ERROR, "lost")
    assert result.conversation_ended_reason is EndReason.ERROR
    assert not result.completed
    assert (result.duration_seconds, result.clock) == (3.0, "media")


async def test_every_sample_is_kept_where_tracks_differ(tmp_path: Path) -> None:
    for name, samples in (("audio_user.wav", 8_000), ("audio_assistant.wav", 16_000)):
        WavWriter(tmp_path / name, 8_000).append(np.ones(samples, dtype=np.int16))
    result = salvage(lost_call(tmp_path), EVALUATION, EndReason.ERROR, "lost")
    assert result.duration_seconds == 2.0
    assert result.audio_user_path == "audio_user.wav"
    assert result.audio_mixed_path is None


async def test_an_event_that_was_half_written_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "user_simulator_events.jsonl"
    with EventLog(path, datetime.now(UTC)) as events:
        events.session_started(datetime.now(UTC))
    with path.open("a") as file:
        file.write('{"timestamp": 17, "ty')
    salvage(lost_call(tmp_path), EVALUATION, EndReason.ERROR, "lost")
    events_after = read_events(tmp_path)
    assert [event["sequence"] for event in events_after] == [1, 2, 3]
    assert events_after[1]["data"] == {"error": "lost"}
    assert events_after[2]["data"]["details"] == {"reason": "error"}


async def test_a_call_that_left_nothing_still_has_a_result(tmp_path: Path) -> None:
    result = salvage(lost_call(tmp_path / "new"), EVALUATION, EndReason.CANCELLED, "lost")
    assert result.duration_seconds == 0.0
    assert read_result(tmp_path / "new") == result
