"""What readers look at is replaced whole, never written where they read it (S1)."""

from __future__ import annotations

from file_writes import files_written_below, written_in_place
from scripted_world import BAD_TIMEOUT, HANGUP, TIMEOUT, Call, World, task

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.summary.writing import write_summaries

TASKS = [task(name) for name in ("a", "b", "c")]


def is_appended_to_or_a_lock(path: str) -> bool:
    return path.startswith(("journal/", "locks/")) or path == "runs.jsonl"


async def test_results_and_summaries_are_never_written_in_place(world: World) -> None:
    world.scripts = {
        "a": [TIMEOUT, BAD_TIMEOUT],
        "b": [Call(raises=RuntimeError("boom"), leaves_result=False)],
        "c": [HANGUP, Call(leaves_result=False)],
    }

    with files_written_below(world.root) as written:
        restored, failed, accepted = await world.run(*TASKS, time_limited=2, max_attempts=2)
        await world.run(*TASKS, mode=AttemptMode.METRICS_ONLY)
        world.run_directory.write_config({"name": "trial"})
        write_summaries(world.run_directory, TASKS)

    assert (restored.accepted, failed.accepted, accepted.accepted) == (True, False, True)
    assert "journal/a.jsonl" in written
    in_place = written_in_place(written)
    assert [path for path in in_place if not is_appended_to_or_a_lock(path)] == []
