"""What is selected is what is done: every subset of the partitioned assets."""

from __future__ import annotations

from itertools import combinations

import dagster as dg
import pytest
from dagster_workbench import Workbench
from evaluation_fakes import FakeCalls

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.dagster_assets.keys import TaskAsset, task_asset_key
from orchestrator_assets.dagster_assets.requests import Request, phases_of

CALLS = {TaskAsset.CONVERSATION, TaskAsset.AUDIO}
SUBSETS = [
    frozenset(subset)
    for size in range(1, len(TaskAsset) + 1)
    for subset in combinations(TaskAsset, size)
]


def names(subset: frozenset[TaskAsset]) -> str:
    return "+".join(asset.value for asset in TaskAsset if asset in subset)


@pytest.mark.parametrize("selected", [each for each in SUBSETS if each & CALLS], ids=names)
def test_whatever_holds_the_conversation_or_the_audio_calls(selected: frozenset[TaskAsset]) -> None:
    (phase,) = phases_of(selected)

    assert phase.mode is AttemptMode.CALL
    assert set(phase.materialised_assets(reused=True)) == selected
    assert phase.materialised_assets(reused=False) == list(TaskAsset)
    (forced,) = phases_of(selected, force=True)
    assert forced.mode is AttemptMode.FORCE
    judging, calling = phases_of(selected, revalidate=True)
    assert (judging.mode, calling) == (AttemptMode.VALIDATE_ONLY, phase)
    assert judging.materialised_assets(reused=True) == []


V, M, R = TaskAsset.VALIDATION, TaskAsset.METRICS, TaskAsset.RECORD_SUMMARY


@pytest.mark.parametrize(
    ("selected", "modes"),
    [
        ({V}, [AttemptMode.VALIDATE_ONLY]),
        ({V, R}, [AttemptMode.VALIDATE_ONLY]),
        ({V, M}, [AttemptMode.VALIDATE_ONLY, AttemptMode.METRICS_ONLY]),
        ({V, M, R}, [AttemptMode.VALIDATE_ONLY, AttemptMode.METRICS_ONLY]),
        ({M}, [AttemptMode.METRICS_ONLY]),
        ({R}, [AttemptMode.METRICS_ONLY]),
        ({M, R}, [AttemptMode.METRICS_ONLY]),
    ],
    ids=str,
)
def test_the_others_judge_or_score_what_is_there(
    selected: set[TaskAsset], modes: list[AttemptMode]
) -> None:
    phases = phases_of(selected)

    assert [phase.mode for phase in phases] == modes
    assert set(Request((), phases).assets) == selected
    assert {a for phase in phases for a in phase.materialised_assets(reused=True)} == selected
    with pytest.raises(dg.Failure, match="neither the conversation nor the audio"):
        phases_of(selected, force=True)
    if V in selected:
        assert phases_of(selected, revalidate=True) == phases
    else:
        with pytest.raises(dg.Failure, match="neither the validation nor the conversation"):
            phases_of(selected, revalidate=True)


def test_the_table_is_complete() -> None:
    without_calls = [each for each in SUBSETS if not each & CALLS]

    assert len(SUBSETS) == 31
    assert len(without_calls) == 7


def test_force_leaves_nothing_to_judge_again() -> None:
    with pytest.raises(dg.Failure, match="drop one of them"):
        phases_of(set(TaskAsset), force=True, revalidate=True)


@pytest.mark.parametrize(
    ("selected", "judged", "scored"),
    [({V, R}, True, False), ({R}, False, True), ({M, R}, False, True), ({V, M, R}, True, True)],
    ids=str,
)
def test_a_selection_without_calls_materialises_itself_and_calls_nobody(
    workbench: Workbench,
    calls: FakeCalls,
    selected: set[TaskAsset],
    judged: bool,
    scored: bool,
) -> None:
    workbench.materialize()
    for done in (calls.placed, calls.judged, calls.scored):
        done.clear()

    result = workbench.materialize(assets=sorted(selected))

    assert result.success
    assert (calls.placed, bool(calls.judged), bool(calls.scored)) == ([], judged, scored)
    materialised = {event.asset_key for event in result.get_asset_materialization_events()}
    assert {task_asset_key("trial_run", asset) for asset in selected} == {
        key for key in materialised if key.path[-1] != "evaluation_summary"
    }
