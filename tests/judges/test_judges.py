"""The judges of an evaluation, made when first asked for."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from judge_server import JudgeServer

from orchestrator_assets.errors import JudgeError
from orchestrator_assets.judges.judges import Judges


async def test_each_judge_is_made_once(server: JudgeServer) -> None:
    judges = Judges(server.settings(model="reader"), server.settings(model="listener"), {})

    first, second, audio = await asyncio.gather(judges.text(), judges.text(), judges.audio())
    await judges.aclose()

    assert first is second
    assert (first.model, audio.model) == ("reader", "listener")


async def test_a_judge_the_evaluation_lacks_is_an_error_that_says_what_to_do() -> None:
    judges = Judges(None, None, {})

    with pytest.raises(JudgeError, match=r"the evaluation has no `audio_judge`; write"):
        await judges.audio()
    await judges.aclose()


async def test_a_judge_without_a_key_is_an_error_by_its_name(server: JudgeServer) -> None:
    judges = Judges(None, server.settings(base_url="https://judge.example/v1"), {})

    with pytest.raises(JudgeError, match=r"^audio_judge: no key for https://judge\.example/v1; "):
        await judges.audio()
    await judges.aclose()


@pytest.mark.parametrize(
    "module",
    [
        "orchestrator_assets.cli",
        "orchestrator_assets.evaluation",
        "orchestrator_assets.evaluation_run",
        "orchestrator_assets.definitions",
    ],
)
def test_the_client_is_not_imported_before_a_judge_is_made(module: str) -> None:
    code = f"import sys, {module}; sys.exit('openai' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_metrics_may_name_the_judge_without_importing_the_client() -> None:
    code = "import sys, orchestrator_assets.judges.judge; sys.exit('openai' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
