"""Packages that offer metrics, on disk as an installer leaves them."""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from orchestrator_assets.metrics.registry import GROUP

MOODS = """
    from orchestrator_assets.metrics.base import MetricScore

    ANSWERS = {}
    COMPUTED = []

    class Mood:
        name = "mood"
        code_version = "1"
        needs = frozenset()
        pass_threshold = 0.5

        def compute(self, conversation):
            COMPUTED.append(conversation.task.id)
            answer = ANSWERS.get(conversation.task.id, 1.0)
            if isinstance(answer, Exception):
                raise answer
            return MetricScore(name=self.name, score=answer, normalized_score=answer)
"""


def install_package(
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    entry_points: dict[str, str],
) -> None:
    """Install a package, named as the folder `site`, with one module and these entry points."""
    module = site.name.replace("-", "_")
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / f"{module}.py").write_text(textwrap.dedent(source), encoding="utf-8")
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {site.name}\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = "".join(f"{name} = {value}\n" for name, value in entry_points.items())
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, module, raising=False)


def install_mood(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Install the metric `mood`, and return its module.

    It answers as `ANSWERS` says by task, with 1.0 otherwise, and notes whom it `COMPUTED`.
    """
    install_package(folder / "moods", monkeypatch, MOODS, {"mood": "moods:Mood"})
    return importlib.import_module("moods")


OPINIONS = """
    from pydantic import BaseModel

    from orchestrator_assets.judges.prompt import Prompt
    from orchestrator_assets.metrics.base import MetricScore

    PROMPT = Prompt("opinion", "1", "Rate the agent from 1 to 3.")

    class Opinion:
        name = "opinion"
        code_version = "1"
        needs = frozenset()
        pass_threshold = 0.5

        async def judge(self, conversation, judge):
            judgement = await judge.ask(
                PROMPT, {}, Rating, metric=self.name, directory=conversation.directory
            )
            rating = judgement.answer.rating
            return MetricScore(
                name=self.name,
                score=rating,
                normalized_score=(rating - 1) / 2,
                judge=judgement.use,
                prompt_hash=judgement.prompt_hash,
            )

    class Rating(BaseModel):
        rating: int
"""


def install_opinion(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the judged metric `opinion`, whose judge answers `{"rating": 3}` and the like."""
    install_package(folder / "opinions", monkeypatch, OPINIONS, {"opinion": "opinions:Opinion"})
