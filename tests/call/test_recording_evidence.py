"""A real call's directory is sound; each thing that can be wrong with it is found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from placed_calls import Engines, demo_agent, place

from orchestrator_assets.audio.findings import Finding, FindingKind, Side
from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.audio.wav import WavWriter, read_wav
from orchestrator_assets.call.conversation import (
    AGENT_AUDIO_FILE,
    CALLER_AUDIO_FILE,
    CLEAN_CALLER_AUDIO_FILE,
    EVENTS_FILE,
    MIXED_AUDIO_FILE,
    RESULT_FILE,
    TRANSCRIPT_FILE,
)
from orchestrator_assets.call.conversation_files import read_transcript
from orchestrator_assets.call.recording_evidence import recording_evidence
from orchestrator_assets.evaluation import ClockKind

SCRIPT = [
    "Hello, I would like to move my appointment.",
    "My booking code is K7TQ2.",
    "Thursday at ten, please.",
    "Yes, please.",
    "No, thank you. Goodbye.",
]


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("placed") / "call"


@pytest.fixture
async def directory(placed: Path, tmp_path: Path, engines: Engines) -> Path:
    """A copy of a call that was really held; it is placed once."""
    if not placed.exists():
        async with demo_agent(engines) as address:
            await place(address, engines, placed, turns=SCRIPT)
    copy = tmp_path / "call"
    shutil.copytree(placed, copy)
    return copy


def found(directory: Path) -> list[Finding]:
    return list(recording_evidence(directory).findings)


def change(path: Path, edit: Callable[[Samples], Samples]) -> None:
    samples, sample_rate_hz = read_wav(path)
    with WavWriter(path, sample_rate_hz) as writer:
        writer.append(edit(samples))


def test_a_real_call_is_sound_and_measured(directory: Path) -> None:
    evidence = recording_evidence(directory)

    assert evidence.findings == ()
    numbers = evidence.numbers
    assert abs(numbers["caller_drift_ms"]) < 1
    assert abs(numbers["caller_offset_ms"]) < 1
    assert abs(numbers["caller_event_offset_ms"]) <= 15
    assert abs(numbers["agent_event_offset_ms"]) < 1
    assert abs(numbers["agent_event_drift_ms"]) < 1
    assert 3.5 < numbers["agent_syllables_per_second"] < 5.5
    assert numbers["caller_speech_dbfs"] == pytest.approx(-21, abs=2)


async def test_a_call_on_the_wall_clock_ends_with_its_recording_and_not_its_transcript(
    engines: Engines, tmp_path: Path
) -> None:
    asked: list[datetime] = []

    class Recogniser:
        sample_rate_hz = 16_000

        def transcribe(self, _samples: Samples) -> str:
            asked.append(datetime.now(UTC))
            return "Harbor Dental."

    async with demo_agent(engines) as address:
        result = await place(
            address, (engines[0], Recogniser()), tmp_path, clock=ClockKind.WALL, limit=1.5
        )

    assert result.ended_at <= asked[0]
    assert (result.ended_at - result.started_at).total_seconds() >= 1.4
    assert FindingKind.WALL_CLOCK not in {finding.kind for finding in found(tmp_path)}


def test_reading_changes_nothing(directory: Path) -> None:
    before = {file.name: file.read_bytes() for file in directory.iterdir()}
    recording_evidence(directory)
    assert {file.name: file.read_bytes() for file in directory.iterdir()} == before


def test_a_recording_without_one_second_of_the_agent_is_off_the_log(directory: Path) -> None:
    middle = 15 * 8_000
    for name in (CALLER_AUDIO_FILE, AGENT_AUDIO_FILE, MIXED_AUDIO_FILE):
        change(
            directory / name,
            lambda samples: np.concatenate([samples[:middle], samples[middle + 1_600 :]]),
        )

    kinds = {finding.kind for finding in found(directory)}

    # The clean track is still whole; so are the log and the result.
    assert {FindingKind.WRONG_LENGTH, FindingKind.DRIFT, FindingKind.OFF_THE_EVENT_LOG} <= kinds


def test_a_turn_that_is_not_in_the_recording_is_told_with_its_place(directory: Path) -> None:
    turn = next(row for row in read_transcript(directory) if row.turn == 1)
    first, last = round(turn.start_seconds * 8_000), round(turn.end_seconds * 8_000)

    def mute(samples: Samples) -> Samples:
        samples = samples.copy()
        samples[first:last] = 0
        return samples

    change(directory / CALLER_AUDIO_FILE, mute)

    silent = next(each for each in found(directory) if each.kind is FindingKind.SILENT)

    assert silent.side is Side.CALLER
    assert silent.start_seconds == pytest.approx(turn.start_seconds, abs=0.02)
    assert silent.end_seconds == pytest.approx(turn.end_seconds, abs=0.02)


def test_a_row_that_is_missing_from_the_transcript_is_told_with_its_place(directory: Path) -> None:
    lines = (directory / TRANSCRIPT_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    gone = next(row for row in read_transcript(directory) if row.role == "assistant")
    (directory / TRANSCRIPT_FILE).write_text("".join(lines[1:]), encoding="utf-8")

    findings = found(directory)

    assert {each.kind for each in findings} == {FindingKind.NOT_TRANSCRIBED}
    assert {each.side for each in findings} == {Side.AGENT}
    assert findings[0].start_seconds == pytest.approx(gone.start_seconds, abs=0.15)
    assert findings[-1].end_seconds == pytest.approx(gone.end_seconds, abs=0.15)


def test_words_that_are_missing_in_the_middle_of_a_row_are_told_with_its_place(
    directory: Path,
) -> None:
    rows = read_transcript(directory)
    longest = max(
        (row for row in rows if row.role == "assistant"),
        key=lambda row: row.end_seconds - row.start_seconds,
    )
    words = longest.content.split()
    thinned = longest.model_copy(update={"content": " ".join([*words[:2], *words[-2:]])})
    lines = [(thinned if row is longest else row).model_dump_json() for row in rows]
    (directory / TRANSCRIPT_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")

    (finding,) = found(directory)

    assert (finding.kind, finding.side) == (FindingKind.TOO_FEW_WORDS, Side.AGENT)
    assert finding.start_seconds == pytest.approx(longest.start_seconds, abs=0.01)
    assert finding.measured["missing_seconds"] > 2.5
    assert "too few words" in finding.message


def test_a_header_that_promises_less_is_told_by_file(directory: Path) -> None:
    for name in (CLEAN_CALLER_AUDIO_FILE, AGENT_AUDIO_FILE):
        content = bytearray((directory / name).read_bytes())
        content[40:44] = bytes(4)
        (directory / name).write_bytes(content)

    findings = found(directory)

    assert {each.kind for each in findings} == {FindingKind.DAMAGED_HEADER}
    assert [each.side for each in findings] == [Side.AGENT, Side.CALLER]
    assert findings[1].message.startswith("audio_user_clean.wav is damaged: its header promises 0")


def test_what_is_missing_beside_the_recordings_is_not_compared(directory: Path) -> None:
    for name in (RESULT_FILE, TRANSCRIPT_FILE, EVENTS_FILE, CLEAN_CALLER_AUDIO_FILE):
        (directory / name).unlink()

    evidence = recording_evidence(directory)

    assert evidence.findings == ()
    assert (evidence.timing, evidence.coverage) == ({}, {})


def test_files_that_are_damaged_make_nothing_fail(directory: Path) -> None:
    for file in directory.iterdir():
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    assert FindingKind.DAMAGED_HEADER in {finding.kind for finding in found(directory)}


def test_an_empty_directory_lacks_both_tracks(tmp_path: Path) -> None:
    assert [finding.kind for finding in found(tmp_path / "nowhere")] == [FindingKind.MISSING] * 2
