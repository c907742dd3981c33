"""Reading ahead: it changes nothing but the time reading takes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator_assets.store import reading_ahead as module
from orchestrator_assets.store.reading_ahead import reading_ahead

pytestmark = pytest.mark.skipif(
    not hasattr(os, "posix_fadvise"), reason="the system has no such request"
)


def wait_for_a_reader(pipe: Path) -> None:
    """Return once somebody has opened a named pipe: before, it can't be opened to write it."""
    deadline = time.monotonic() + 10
    while True:
        try:
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Note the processes that are started."""
    processes: list[subprocess.Popen[bytes]] = []
    start = module._asking_for

    def noting(paths: list[bytes]) -> subprocess.Popen[bytes]:
        processes.append(start(paths))
        return processes[-1]

    monkeypatch.setattr(module, "_asking_for", noting)
    return processes


def test_every_file_is_asked_for_whatever_its_name_and_missing_ones_are_passed_over(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    pipe = tmp_path / "Größe\n2"
    os.mkfifo(pipe)

    with reading_ahead([tmp_path / "gone", str(tmp_path / "no" / "folder"), pipe], at_least=1):
        wait_for_a_reader(pipe)

    assert len(started) == 1


def test_it_stops_with_the_context_however_far_it_is(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    pipe = tmp_path / "nobody writes it"
    os.mkfifo(pipe)

    with pytest.raises(KeyError), reading_ahead([pipe], at_least=1):
        raise KeyError

    assert started[0].returncode is not None


def test_a_few_files_are_not_worth_a_process(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    with reading_ahead([tmp_path / str(number) for number in range(100)]):
        pass

    assert started == []


def test_where_no_process_can_be_started_files_are_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))

    with reading_ahead([tmp_path], at_least=1):
        reached = True

    assert reached
