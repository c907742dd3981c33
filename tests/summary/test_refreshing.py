"""Summaries that are rewritten while a run goes on."""

from __future__ import annotations

import asyncio
import threading

import pytest
from scripted_world import task

from orchestrator_assets.attempts.outcomes import Acceptance, TaskOutcome
from orchestrator_assets.summary.refreshing import ChangeListener, refreshing


class Writer:
    """Counts what it is asked to write, off the event loop, and may be held."""

    def __init__(self) -> None:
        self.written = 0
        self.at_once = 0
        self.most_at_once = 0
        self.threads: set[int] = set()
        self.began = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.threads.add(threading.get_ident())
        self.began.set()
        assert self.may_end.wait(5)
        self.at_once -= 1
        self.written += 1


async def until_written(writer: Writer, count: int) -> None:
    async with asyncio.timeout(5):
        while writer.written < count:
            await asyncio.sleep(0.001)


async def test_writes_in_a_thread_whenever_something_has_changed() -> None:
    writer, changed = Writer(), asyncio.Event()
    async with refreshing(changed, writer, every_seconds=0):
        for count in (1, 2):
            changed.set()
            await until_written(writer, count)

    assert threading.get_ident() not in writer.threads


async def test_writes_nothing_where_nothing_changes_and_no_more_often_than_wanted() -> None:
    writer, changed = Writer(), asyncio.Event()
    async with refreshing(changed, writer, every_seconds=60):
        changed.set()
        await until_written(writer, 1)
        changed.set()
        await asyncio.sleep(0.05)

    assert writer.written == 1


async def test_never_writes_twice_at_once_and_leaves_no_write_behind() -> None:
    writer, changed = Writer(), asyncio.Event()
    writer.may_end.clear()
    async with refreshing(changed, writer, every_seconds=0):
        changed.set()
        await asyncio.to_thread(writer.began.wait, 5)
        changed.set()
        asyncio.get_running_loop().call_later(0.05, writer.may_end.set)

    assert (writer.written, writer.at_once, writer.most_at_once) == (1, 0, 1)


async def test_a_write_that_fails_costs_the_run_nothing(caplog: pytest.LogCaptureFixture) -> None:
    tries = 0

    def write() -> None:
        nonlocal tries
        tries += 1
        raise OSError("disk full")

    changed = asyncio.Event()
    async with refreshing(changed, write, every_seconds=0), asyncio.timeout(5):
        while tries < 2:
            changed.set()
            await asyncio.sleep(0.001)

    assert "could not be brought up to date" in caplog.text


async def test_the_listener_notes_changes_and_passes_them_on() -> None:
    told: list[object] = []

    class Listener:
        def attempt_started(self, *facts: object) -> None:
            told.append(facts)

        attempt_ended = task_settled = attempt_started

    news = ChangeListener(Listener())
    one = task("a")
    outcome = TaskOutcome(one, Acceptance.VALIDATED, (), 0)
    news.attempt_started(one, 1)
    news.task_settled(outcome)

    assert news.changed.is_set()
    assert told == [(one, 1), (outcome,)]
    ChangeListener(None).task_settled(outcome)
