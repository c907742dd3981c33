"""The registry, with packages of their own on the search path as an installer leaves them."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from evaluation_fakes import write_evaluation
from metric_packages import install_package

from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.metrics.base import Need
from orchestrator_assets.metrics.registry import (
    BUILT_IN,
    GROUP,
    create_metrics,
    is_judged,
    metric_names,
)

POLITENESS = """
    from orchestrator_assets.metrics.base import MetricScore, Need

    class Politeness:
        name = "politeness"
        code_version = "3"
        needs = frozenset({Need.TRANSCRIPT})
        pass_threshold = 0.5

        def compute(self, conversation):
            return MetricScore(name=self.name, score=1.0)
"""
PUNCTUALITY = POLITENESS.replace("def compute(self, conversation)", "async def judge(self, c, j)")

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a package with one module and its entry points where Python finds it."""

    def make(distribution: str, source: str, entry_points: dict[str, str]) -> None:
        install_package(tmp_path / distribution, monkeypatch, source, entry_points)

    return make


def fault_of(*names: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        create_metrics(names)
    return str(caught.value)


def test_this_packages_metadata_offers_its_own_metrics() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))

    assert project["project"]["entry-points"][GROUP] == BUILT_IN


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_metric_can_be_made(name: str) -> None:
    (metric,) = create_metrics([name])

    assert metric.name == name
    assert is_judged(metric) == (
        name in {"faithfulness", "conversation_progression", "conciseness"}
    )


def test_a_metric_of_another_package_is_named_in_an_evaluation(
    install: Install, tmp_path: Path
) -> None:
    install("well-behaved", POLITENESS, {"politeness": "well_behaved:Politeness"})

    evaluation = load_evaluation(write_evaluation(tmp_path, ["a"], metrics=["politeness"]))

    (metric,) = create_metrics(evaluation.metrics)
    assert (metric.code_version, metric.needs) == ("3", {Need.TRANSCRIPT})
    assert not is_judged(metric)
    assert "politeness" in metric_names()


def test_a_judged_metric_needs_a_judge_in_the_evaluation(install: Install, tmp_path: Path) -> None:
    install("well-behaved", PUNCTUALITY, {"politeness": "well_behaved:Politeness"})
    metrics = ["task_completion", "politeness"]

    with pytest.raises(ConfigurationError, match=r"metrics\.1: 'politeness' asks a language model"):
        load_evaluation(write_evaluation(tmp_path, ["a"], metrics=metrics))
    judged = load_evaluation(write_evaluation(tmp_path, ["a"], metrics=metrics, judge={}))

    assert [is_judged(metric) for metric in create_metrics(judged.metrics)] == [False, True]


def test_an_evaluation_lists_every_fault_of_its_metrics_by_file_and_field(
    install: Install, tmp_path: Path
) -> None:
    install("broken", "import nothing_like_it", {"broken": "broken:Broken"})
    metrics = ["speed", "task_completion", "broken", "task_completion"]
    path = write_evaluation(tmp_path, ["a"], metrics=metrics)

    with pytest.raises(ConfigurationError) as caught:
        load_evaluation(path)

    assert [fault.location for fault in caught.value.faults] == [
        "metrics.0",
        "metrics.2",
        "metrics.3",
    ]
    assert f"{path}: metrics.0: there is no metric 'speed'; known: " in str(caught.value)
    assert "'task_completion' stands there twice" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import nothing_like_it", "can't be imported: ModuleNotFoundError"),
        ("raise RuntimeError('no licence')", "can't be imported: RuntimeError: no licence"),
        ("Other = 1", "can't be imported: AttributeError"),
        ("class Politeness: pass", "is no metric: it has no `name`, `code_version`, `needs`"),
        (POLITENESS.replace('name = "pol', 'title = "pol'), "is no metric: it has no `name`"),
        (POLITENESS.replace('"politeness"', '"manners"'), "calls itself 'manners'"),
        (POLITENESS.replace("compute", "score"), "must have either `compute` or `judge`"),
        (POLITENESS.replace("def compute", "async def compute"), "must have `compute` as a `def`"),
        (PUNCTUALITY.replace("async def", "def"), "must have `judge` as `async def`"),
        (POLITENESS.replace('"3"', "3"), "has the `code_version` 3"),
        (POLITENESS.replace("{Need.TRANSCRIPT}", "{'words'}"), "has the `needs` frozenset"),
        (POLITENESS.replace("0.5", "50"), "has the `pass_threshold` 50"),
        (POLITENESS.replace('"3"', "property(lambda self: open('/no/prompt'))"), "can't be made"),
        (POLITENESS + "\n        def __init__(self, key): pass", "can't be made: TypeError"),
    ],
)
def test_what_can_not_be_used_is_named_with_its_package_and_entry_point(
    install: Install, source: str, fault: str
) -> None:
    install("their-package", source, {"politeness": "their_package:Politeness"})

    message = fault_of("politeness")

    assert "metric 'politeness' (entry point in orchestrator_assets.metrics)" in message
    assert f"their-package (their_package:Politeness) {fault}" in message


def test_a_broken_package_breaks_no_evaluation_that_does_not_name_its_metric(
    install: Install, tmp_path: Path
) -> None:
    install("broken", "raise RuntimeError", {"broken": "broken:Broken"})

    evaluation = load_evaluation(write_evaluation(tmp_path, ["a"]))

    assert [metric.name for metric in create_metrics(evaluation.metrics)] == ["task_completion"]
    assert "broken" in metric_names()


def test_a_name_that_two_packages_claim_is_an_error_only_where_it_is_used(install: Install) -> None:
    install("one", POLITENESS, {"politeness": "one:Politeness"})
    install("other", POLITENESS, {"politeness": "other:Politeness"})

    create_metrics(["task_completion"])
    message = fault_of("politeness")

    assert "one (one:Politeness)" in message
    assert "other (other:Politeness)" in message
    assert "uninstall all but one" in message


def test_a_name_of_this_packages_is_nobody_elses(install: Install) -> None:
    source = POLITENESS.replace('"politeness"', '"task_completion"')
    install("taker", source, {"task_completion": "taker:Politeness"})

    assert "taker (taker:Politeness) offer a metric of this name" in fault_of("task_completion")


def test_a_validation_metrics_name_is_taken(install: Install) -> None:
    name = "user_speech_fidelity"
    install("taker", POLITENESS.replace("politeness", name), {name: "taker:Politeness"})

    assert "takes the name of a validation metric" in fault_of(name)


def test_a_package_that_is_found_twice_claims_its_name_once(
    install: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install("well-behaved", POLITENESS, {"politeness": "well_behaved:Politeness"})
    copy = tmp_path / "copy"
    (copy / "well_behaved-1.0.dist-info").mkdir(parents=True)
    for name in ("METADATA", "entry_points.txt"):
        original = tmp_path / "well-behaved" / "well_behaved-1.0.dist-info" / name
        (copy / "well_behaved-1.0.dist-info" / name).write_text(original.read_text())
    monkeypatch.syspath_prepend(str(copy))

    assert len(create_metrics(["politeness"])) == 1


def test_without_metadata_the_built_in_metrics_are_there_all_the_same() -> None:
    """As in a checkout that is not installed, or whose metadata is older than the code."""
    program = (
        "import importlib.metadata as metadata, json, sys\n"
        "metadata.entry_points = lambda *, group: ()\n"
        "from orchestrator_assets.metrics.registry import create_metrics, metric_names\n"
        "create_metrics(['task_completion'])\n"
        "print(json.dumps([metric_names(), 'openai' in sys.modules]))"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout

    assert json.loads(output) == [sorted(BUILT_IN), False]
