"""Two evaluations in one code location and one output folder don't touch each other."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
from dagster import DagsterInstance
from dagster_workbench import Workbench
from evaluation_fakes import Attempt, FakeCalls, write_evaluation

from orchestrator_assets.dagster_assets import build_evaluation_definitions
from orchestrator_assets.dagster_assets.jobs import EvaluationJob
from orchestrator_assets.dagster_assets.partitions import partitions_name
from orchestrator_assets.evaluation import load_evaluation


def files(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_running_one_changes_nothing_of_the_other(
    instance: DagsterInstance, tmp_path: Path
) -> None:
    calls = {name: FakeCalls({"b": [Attempt.CUT_OFF]}) for name in ("first", "second")}
    benches = {
        name: Workbench(
            instance,
            load_evaluation(write_evaluation(tmp_path / "both", ["a", "b"], name=name)),
            calls[name].create_run,
        )
        for name in calls
    }
    both = dg.Definitions.merge(*(bench.definitions for bench in benches.values()))
    for bench in benches.values():
        bench.definitions = both
    first, second = benches.values()
    second.materialize()
    before = (second.statuses(), files(second.evaluation.run_directory))
    checks = second.instance.event_log_storage.get_latest_asset_check_execution_by_key
    check_keys = [
        key
        for key in both.resolve_asset_graph().asset_check_keys
        if key.asset_key in second.all_keys()
    ]
    verdicts = checks(check_keys)
    calls["first"].plans = {}

    assert first.materialize().success
    assert first.run_job(EvaluationJob.RUN_EVALUATION, {"force": True}).success
    assert first.run_job(EvaluationJob.RECOMPUTE_METRICS).success

    assert first.statuses() == {(("a", "b"), ())}
    assert (second.statuses(), files(second.evaluation.run_directory)) == before
    assert second.statuses() == {(("a",), ("b",))}
    assert checks(check_keys) == verdicts
    assert [task_id for task_id, _ in calls["second"].placed].count("a") == 1
    for name in benches:
        assert list(instance.get_dynamic_partitions(partitions_name(name))) == ["a", "b"]


def test_each_has_its_own_keys_group_jobs_and_pool(tmp_path: Path) -> None:
    evaluations = [
        load_evaluation(write_evaluation(tmp_path / "both", ["a"], name=name))
        for name in ("first", "second")
    ]

    both = dg.Definitions.merge(
        *(build_evaluation_definitions(evaluation) for evaluation in evaluations)
    )

    for evaluation in evaluations:
        specs = [
            spec for spec in both.resolve_all_asset_specs() if spec.group_name == evaluation.name
        ]
        assert len(specs) == 6
        assert {spec.key.path[0] for spec in specs} == {evaluation.name}
        names = {
            spec.partitions_def.name
            for spec in specs
            if isinstance(spec.partitions_def, dg.DynamicPartitionsDefinition)
        }
        assert names == {partitions_name(evaluation.name)}
