"""The pool with real worker processes, and calls in them that crash, hang and go on for ever."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import pytest
import soundfile
import worker_fakes
from worker_fakes import AGENT, RECORDED_SECONDS, TRACKS, FakeCalls

from orchestrator_assets.call.conversation import ConversationResult, EndReason
from orchestrator_assets.call.conversation_files import read_events, read_result
from orchestrator_assets.call.worker_pool import WorkerPool
from orchestrator_assets.call.worker_process import WorkerLimits
from orchestrator_assets.errors import InterruptedCallError, PreflightError, SpeechEngineError
from orchestrator_assets.evaluation import Agent, Evaluation
from orchestrator_assets.records import Record, Task

PATIENCE_SECONDS = 30.0
LIMITS = WorkerLimits(grace=0.2, reaction=1.0, hanging_up=1.0)


class Slot(AbstractAsyncContextManager[None]):
    """Remembers when it was held, and lets nobody in while it is shut."""

    def __init__(self, *, shut: bool = False) -> None:
        self.history: list[str] = []
        self.open = asyncio.Event()
        if not shut:
            self.open.set()

    async def __aenter__(self) -> None:
        self.history.append("wanted")
        await self.open.wait()
        self.history.append("entered")

    async def __aexit__(self, *error: object) -> None:
        self.history.append("left")


class Calls:
    """A pool, and the calls that a test places through it."""

    def __init__(self, pool: WorkerPool, root: Path) -> None:
        self.pool = pool
        self.root = root

    def directory(self, record_id: str) -> Path:
        return self.root / record_id.replace(" ", "_")

    def start(
        self, record_id: str, *, attempt: int = 1, slot: Slot | None = None, go: bool = False
    ) -> asyncio.Task[ConversationResult]:
        directory = self.directory(record_id)
        directory.mkdir(exist_ok=True)
        (directory / "live").unlink(missing_ok=True)
        if go:
            (directory / "go").touch()
        task = Task(Record(id=record_id))
        call = self.pool(task, attempt, directory, slot or Slot())
        return asyncio.ensure_future(call)

    async def live(self, record_id: str) -> int:
        """Wait until the call is live, and return its process id."""
        path = self.directory(record_id) / "live"
        await until(lambda: path.exists() and path.read_text() != "")
        return int(path.read_text())

    def go(self, record_id: str) -> None:
        (self.directory(record_id) / "go").touch()

    def recorded_seconds(self, record_id: str) -> list[float]:
        return [soundfile.info(self.directory(record_id) / name).duration for name in TRACKS]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


async def ending(call: Awaitable[ConversationResult]) -> ConversationResult:
    return await asyncio.wait_for(call, PATIENCE_SECONDS)


async def interruption(call: Awaitable[ConversationResult]) -> str:
    with pytest.raises(InterruptedCallError) as raised:
        await ending(call)
    return str(raised.value)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def evaluation(
    folder: Path, *, concurrent: int, per_worker: int, workers: int | None, limit: float
) -> Evaluation:
    return Evaluation(
        name="test",
        data_set=Path("unused"),
        agent=Agent(url="ws://unused"),
        conversation_time_limit_seconds=limit,
        max_concurrent_conversations=concurrent,
        calls_per_worker=per_worker,
        workers=workers,
        output_dir=folder,
    )


@asynccontextmanager
async def calls_to(
    root: Path,
    *,
    concurrent: int = 4,
    per_worker: int = 10,
    workers: int | None = None,
    limit: float = 3_600,
) -> AsyncIterator[Calls]:
    settings = evaluation(
        root, concurrent=concurrent, per_worker=per_worker, workers=workers, limit=limit
    )
    # A pool that leaves a stuck worker alone waits for it for ever: then the test is to fail.
    rescue = asyncio.get_running_loop().call_later(1.5 * PATIENCE_SECONDS, kill_children)
    try:
        async with WorkerPool(settings, AGENT, make_placer=FakeCalls, limits=LIMITS) as pool:
            yield Calls(pool, root)
    finally:
        rescue.cancel()


def kill_children() -> None:
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def worker_log(root: Path) -> str:
    return (root / "test" / "workers.log").read_text(encoding="utf-8")


async def test_a_call_holds_its_slot_only_while_it_is_live(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        slot = Slot(shut=True)
        call = calls.start("ends", slot=slot, go=True)
        await until(lambda: slot.history == ["wanted"])
        assert not (calls.directory("ends") / "live").exists()
        slot.open.set()
        result = await ending(call)
    assert slot.history == ["wanted", "entered", "left"]
    assert result.conversation_ended_reason is EndReason.GOODBYE
    assert result == read_result(tmp_path / "ends")
    assert "this is ends" in (tmp_path / "ends" / "logs.log").read_text(encoding="utf-8")


async def test_waiting_for_a_slot_is_not_time_of_the_call(tmp_path: Path) -> None:
    async with calls_to(tmp_path, limit=0.05) as calls:
        slot = Slot(shut=True)
        call = calls.start("ends", slot=slot, go=True)
        await until(lambda: slot.history == ["wanted"])
        await asyncio.sleep(0.05 + 2 * LIMITS.grace)
        slot.open.set()
        assert (await ending(call)).completed


@pytest.mark.parametrize(("per_worker", "workers"), [(2, None), (10, 2)])
async def test_calls_are_spread_over_the_workers_they_need_or_are_given(
    tmp_path: Path, per_worker: int, workers: int | None
) -> None:
    names = [f"ends {number}" for number in range(4)]
    async with calls_to(tmp_path, concurrent=4, per_worker=per_worker, workers=workers) as calls:
        placed = [calls.start(name) for name in names]
        pids = [await calls.live(name) for name in names]
        assert sorted(pids.count(pid) for pid in set(pids)) == [2, 2]
        assert set(pids) == set(calls.pool.pids)
        for name in names:
            calls.go(name)
        await asyncio.gather(*map(ending, placed))


async def test_one_worker_is_enough_for_a_few_calls(tmp_path: Path) -> None:
    names = [f"ends {number}" for number in range(8)]
    async with calls_to(tmp_path, concurrent=4, per_worker=10) as calls:
        await asyncio.gather(*(ending(calls.start(name, go=True)) for name in names))
        assert len({await calls.live(name) for name in names}) == 1


async def test_a_worker_never_holds_more_live_calls_than_it_may(tmp_path: Path) -> None:
    async with calls_to(tmp_path, concurrent=1, per_worker=1) as calls:
        second_slot = Slot()
        recording = calls.directory("ends 2") / "audio_user.wav"
        first = calls.start("ends 1")
        await calls.live("ends 1")
        second = calls.start("ends 2", slot=second_slot, go=True)
        await until(recording.exists)
        assert second_slot.history == []
        calls.go("ends 1")
        await ending(first)
        await ending(second)


@pytest.mark.parametrize(("record_id", "how"), [("crashes", "SIGSEGV"), ("exits", "exit code 3")])
async def test_a_call_that_takes_its_worker_down_alone_is_charged(
    tmp_path: Path, record_id: str, how: str
) -> None:
    async with calls_to(tmp_path) as calls:
        result = await ending(calls.start(record_id, go=True))
        assert result.conversation_ended_reason is EndReason.ERROR
        assert result.cause == "harness"
        assert how in str(result.error)
        assert result == read_result(tmp_path / record_id)
        assert (await ending(calls.start("ends", go=True))).completed


async def test_what_a_crashed_call_recorded_is_repaired_and_its_events_are_ended(
    tmp_path: Path,
) -> None:
    async with calls_to(tmp_path) as calls:
        result = await ending(calls.start("crashes", go=True))
        assert calls.recorded_seconds("crashes") == [RECORDED_SECONDS] * len(TRACKS)
    assert result.model_extra == {
        "audio_repaired": True,
        "audio_repaired_files": list(TRACKS),
    }
    assert result.duration_seconds == RECORDED_SECONDS
    last = read_events(tmp_path / "crashes")[-1]
    assert last["data"] == {"state": "session_ended", "details": {"reason": "error"}}
    assert "SIGSEGV" in (tmp_path / "crashes" / "logs.log").read_text(encoding="utf-8")
    trace = worker_log(tmp_path)
    assert "Segmentation fault" in trace
    assert "worker_fakes.py" in trace


async def test_who_crashed_among_several_calls_is_found_out_by_placing_each_alone(
    tmp_path: Path,
) -> None:
    async with calls_to(tmp_path) as calls:
        bystander, culprit = calls.start("ends"), calls.start("crashes")
        shared = {await calls.live("ends"), await calls.live("crashes")}
        assert len(shared) == 1
        calls.go("crashes")
        for call in (bystander, culprit):
            assert "SIGSEGV" in await interruption(call)
        assert read_result(tmp_path / "ends").conversation_ended_reason is EndReason.CANCELLED

        bystander, culprit = calls.start("ends", attempt=2), calls.start("crashes", attempt=2)
        assert (await ending(culprit)).conversation_ended_reason is EndReason.ERROR
        alone = await calls.live("ends")
        assert alone not in shared | {await calls.live("crashes")}
        calls.go("ends")
        assert (await ending(bystander)).completed
        assert not is_running(alone)


async def test_a_crash_while_preparing_does_not_blame_a_call_that_waits_for_its_slot(
    tmp_path: Path,
) -> None:
    async with calls_to(tmp_path) as calls:
        slot = Slot(shut=True)
        waiting = calls.start("ends", slot=slot, go=True)
        await until(lambda: slot.history == ["wanted"])
        charged = await ending(calls.start("crashes_while_preparing"))
        assert charged.conversation_ended_reason is EndReason.ERROR
        slot.open.set()
        await interruption(waiting)
        assert (await ending(calls.start("ends", attempt=2, go=True))).completed


async def test_a_result_that_was_complete_before_the_crash_wins(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        result = await ending(calls.start("crashes_with_all_files", go=True))
    assert result.completed
    assert result == read_result(tmp_path / "crashes_with_all_files")


async def test_a_call_that_blocks_its_worker_is_killed_and_charged(tmp_path: Path) -> None:
    async with calls_to(tmp_path, limit=0.2) as calls:
        call = calls.start("hangs", go=True)
        pid = await calls.live("hangs")
        result = await ending(call)
        assert not is_running(pid)
    assert result.conversation_ended_reason is EndReason.ERROR
    assert result.cause == "harness"
    assert "did not react for 1 s and was killed" in str(result.error)
    assert "the live call took longer than 0.4 s" in str(result.error)
    assert result.model_extra == {
        "audio_repaired": True,
        "audio_repaired_files": list(TRACKS),
    }
    assert "in go_live" in worker_log(tmp_path)


async def test_who_blocks_the_worker_is_charged_and_not_who_waits_there(tmp_path: Path) -> None:
    async with calls_to(tmp_path, limit=2.0) as calls:
        bystander = calls.start("ends")
        await calls.live("ends")
        culprit = calls.start("hangs", go=True)
        # The bystander, which began first, is the first to exceed its limit.
        assert "did not react" in await interruption(bystander)
        assert (await ending(culprit)).conversation_ended_reason is EndReason.ERROR
        assert calls.recorded_seconds("ends") == [RECORDED_SECONDS] * len(TRACKS)
        assert (await ending(calls.start("ends", attempt=2, go=True))).completed


async def test_a_call_that_can_not_be_hung_up_is_killed_with_its_worker(tmp_path: Path) -> None:
    async with calls_to(tmp_path, limit=1.0) as calls:
        result = await ending(calls.start("is_deaf_to_hanging_up"))
    assert result.conversation_ended_reason is EndReason.ERROR
    assert "had not hung up after 2 s and was killed" in str(result.error)


async def test_a_call_beyond_its_limit_is_hung_up_and_its_worker_lives_on(tmp_path: Path) -> None:
    async with calls_to(tmp_path, limit=0.2) as calls:
        call = calls.start("ends")
        pid = await calls.live("ends")
        result = await ending(call)
        assert calls.pool.pids == [pid]
    assert result.conversation_ended_reason is EndReason.ERROR
    assert result.error == "the live call took longer than 0.4 s; it was hung up"
    assert result == read_result(tmp_path / "ends")
    assert result.model_extra == {"audio_repaired": False, "audio_repaired_files": []}


async def test_a_cancelled_call_is_hung_up_before_its_slot_is_free(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        reasons: list[EndReason] = []

        class WatchingSlot(Slot):
            async def __aexit__(self, *error: object) -> None:
                reasons.append(read_result(tmp_path / "ends").conversation_ended_reason)

        call = calls.start("ends", slot=WatchingSlot())
        pid = await calls.live("ends")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending(call)
        assert calls.pool.pids == [pid]
        assert calls.recorded_seconds("ends") == [RECORDED_SECONDS] * len(TRACKS)
    assert reasons == [EndReason.CANCELLED]


async def test_a_call_that_was_held_completes_its_files_when_cancelled(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        slot = Slot()
        call = calls.start("files_slowly", slot=slot, go=True)
        await until(lambda: slot.history == ["wanted", "entered", "left"])
        call.cancel()
        await asyncio.sleep(0)
        (tmp_path / "files_slowly" / "filed").touch()
        with pytest.raises(asyncio.CancelledError):
            await ending(call)
    assert read_result(tmp_path / "files_slowly").completed


async def test_cancelling_a_blocked_call_takes_no_longer_than_its_limits(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        call = calls.start("hangs", go=True)
        pid = await calls.live("hangs")
        call.cancel()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending(call)
        assert not is_running(pid)
    result = read_result(tmp_path / "hangs")
    assert result.conversation_ended_reason is EndReason.CANCELLED


async def test_a_call_that_is_cancelled_before_its_slot_never_goes_live(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        slot = Slot(shut=True)
        call = calls.start("ends", slot=slot, go=True)
        await until(lambda: slot.history == ["wanted"])
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending(call)
        assert not (calls.directory("ends") / "live").exists()
        assert (await ending(calls.start("ends 2", go=True))).completed


async def test_an_error_in_a_call_arrives_with_its_traceback(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        with pytest.raises(ValueError, match="a fault of the caller") as raised:
            await ending(calls.start("fails", go=True))
    assert "worker_fakes.py" in "".join(raised.value.__notes__)


async def test_leaving_the_pool_ends_all_workers_also_blocked_ones(tmp_path: Path) -> None:
    async with calls_to(tmp_path, concurrent=2, per_worker=1) as calls:
        placed = [calls.start("hangs", go=True), calls.start("ends")]
        pids = [await calls.live("hangs"), await calls.live("ends")]
        assert all(map(is_running, pids))
    await asyncio.wait(placed, timeout=PATIENCE_SECONDS)
    assert not any(map(is_running, pids))


async def test_a_worker_ignores_ctrl_c(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        call = calls.start("ends")
        os.kill(await calls.live("ends"), signal.SIGINT)
        calls.go("ends")
        assert (await ending(call)).completed


async def test_a_worker_that_is_told_to_stop_hangs_up_and_blames_nobody(tmp_path: Path) -> None:
    async with calls_to(tmp_path) as calls:
        call = calls.start("ends")
        pid = await calls.live("ends")
        os.kill(pid, signal.SIGTERM)
        assert "told to stop" in await interruption(call)
        await until(lambda: not is_running(pid))
        assert (await ending(calls.start("ends", attempt=2, go=True))).completed


async def test_a_worker_that_can_not_be_set_up_says_why(tmp_path: Path) -> None:
    settings = evaluation(tmp_path, concurrent=1, per_worker=1, workers=None, limit=1)
    with pytest.raises(SpeechEngineError, match="no voice today"):
        async with WorkerPool(settings, AGENT, make_placer=worker_fakes.speechless):
            raise AssertionError("it was entered")
    with pytest.raises(PreflightError, match=r"SIGSEGV.*workers\.log"):
        async with WorkerPool(settings, AGENT, make_placer=worker_fakes.crashing_set_up):
            raise AssertionError("it was entered")


async def test_a_pool_works_on_an_event_loop_in_another_thread(tmp_path: Path) -> None:
    results: list[ConversationResult] = []

    async def place() -> None:
        async with calls_to(tmp_path) as calls:
            results.append(await ending(calls.start("ends", go=True)))

    thread = threading.Thread(target=lambda: asyncio.run(place()), daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, PATIENCE_SECONDS)
    assert [result.completed for result in results] == [True]


async def test_a_killed_run_leaves_no_worker_calling_on(tmp_path: Path) -> None:
    for name in ("ends", "hangs"):
        (tmp_path / name).mkdir()
    (tmp_path / "hangs" / "go").touch()
    script = Path(worker_fakes.__file__).with_name("worker_run.py")
    paths = os.pathsep.join([*sys.path, str(Path.cwd())])
    run = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], env={**os.environ, "PYTHONPATH": paths}
    )
    try:
        live = [tmp_path / name / "live" for name in ("ends", "hangs")]
        await until(lambda: all(path.exists() and path.read_text() for path in live))
        pids = [int(path.read_text()) for path in live]
        run.kill()
        await until(lambda: not any(map(is_running, pids)))
    finally:
        with suppress(ProcessLookupError):
            run.kill()
        run.wait()
    assert read_result(tmp_path / "ends").conversation_ended_reason is EndReason.CANCELLED
    assert (tmp_path / "starts").read_text() == "started\n"


def test_a_worker_does_not_import_dagster() -> None:
    check = (
        "import sys, orchestrator_assets.call.placing, orchestrator_assets.call.worker; "
        "sys.exit(any(name.split('.')[0] == 'dagster' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
