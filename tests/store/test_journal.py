"""A journal that survives every kill (S3)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from orchestrator_assets.errors import RunDirectoryError
from orchestrator_assets.store.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal" / "a.jsonl")


def test_reads_back_what_was_appended(journal: Journal) -> None:
    journal.append({"event": "started", "attempt": 1})
    journal.append({"event": "ended", "text": "ü\n\u2028"})

    assert journal.read() == [
        {"event": "started", "attempt": 1},
        {"event": "ended", "text": "ü\n\u2028"},
    ]
    assert journal.path.read_bytes().count(b"\n") == 2


def test_a_journal_nobody_wrote_is_empty(journal: Journal) -> None:
    assert journal.read() == []


def test_a_kill_at_any_byte_loses_the_last_entry_at_most(journal: Journal) -> None:
    entries = [{"event": "ended", "text": f"entry {number} ü"} for number in range(3)]
    for entry in entries:
        journal.append(entry)
    content = journal.path.read_bytes()
    start_of_last = content.rstrip(b"\n").rfind(b"\n") + 1

    for size in range(start_of_last, len(content) + 1):
        journal.path.write_bytes(content[:size])
        read = journal.read()
        assert read in (entries[:2], entries)
        assert (read == entries) == (size >= len(content) - 1)
        journal.append({"event": "next"})
        assert journal.read() == [*read, {"event": "next"}]
        assert all(json.loads(line) for line in journal.path.read_text().strip().split("\n"))


def test_a_tail_of_zeros_as_a_power_loss_leaves_it_is_mended(journal: Journal) -> None:
    journal.append({"event": "started"})
    with journal.path.open("ab") as file:
        file.write(b"\0" * 100)

    journal.append({"event": "next"})

    assert journal.read() == [{"event": "started"}, {"event": "next"}]


@pytest.mark.parametrize("damage", [b"garbage\n", b"[1]\n", b"\n"])
def test_damage_in_the_middle_is_refused_by_file_and_line(journal: Journal, damage: bytes) -> None:
    journal.append({"event": "started"})
    with journal.path.open("ab") as file:
        file.write(damage)
    journal.append({"event": "next"})

    with pytest.raises(RunDirectoryError, match=r"a\.jsonl, line 2: is not a JSON object"):
        journal.read()


def test_lone_surrogates_do_not_stop_an_entry(journal: Journal) -> None:
    journal.append({"error": "bad \ud800 text"})

    assert journal.read() == [{"error": "bad \ufffd text"}]


def test_an_entry_is_on_disk_before_append_returns_and_a_new_file_by_its_name(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    fsync = os.fsync

    def note_fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").resolve())
        fsync(descriptor)

    journal.path.parent.mkdir()
    monkeypatch.setattr(os, "fsync", note_fsync)

    journal.append({"attempt": 1})
    journal.append({"attempt": 2})

    assert synced == [journal.path, journal.path.parent, journal.path]
