"""What a run asks of the attempt loop: which tasks, and how far to go with them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import dagster as dg

from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.dagster_assets.keys import TaskAsset
from orchestrator_assets.metrics.selection import MetricSelection
from orchestrator_assets.records import Task


@dataclass(frozen=True, slots=True)
class Phase:
    """One pass over the tasks: what is done with them, and the assets that stand for it.

    `metric_selection` are the scores it computes, where they are not the mode's own.
    """

    mode: AttemptMode
    assets: frozenset[TaskAsset]
    metric_selection: MetricSelection | None = None

    def materialised_assets(self, *, reused: bool) -> list[TaskAsset]:
        """Return the assets an accepted task is materialised in.

        A new conversation makes whatever was there of the task out of date, so then it is all.
        """
        everything = self.mode in (AttemptMode.CALL, AttemptMode.FORCE) and not reused
        return [asset for asset in TaskAsset if everything or asset in self.assets]


@dataclass(frozen=True, slots=True)
class Request:
    """The tasks to settle, and the passes over them, in order."""

    tasks: tuple[Task, ...]
    phases: tuple[Phase, ...]

    @property
    def assets(self) -> list[TaskAsset]:
        """The assets that were selected."""
        return [asset for asset in TaskAsset if any(asset in phase.assets for phase in self.phases)]


def phases_of(
    selected: Collection[TaskAsset], *, force: bool = False, revalidate: bool = False
) -> tuple[Phase, ...]:
    """Return what a selection of assets stands for: what is selected is what is done.

    Conversation or audio: see that there is an accepted call, with all that follows from it.
    Validation: judge the calls that are there. Metrics and the summary: score accepted calls.
    Raises dagster.Failure where a call is to be forced, or judged again, that is not selected.
    """
    assets = frozenset(selected)
    calls = bool(assets & {TaskAsset.CONVERSATION, TaskAsset.AUDIO})
    _check_settings(assets, calls=calls, force=force, revalidate=revalidate)
    if calls:
        calling = Phase(AttemptMode.FORCE if force else AttemptMode.CALL, assets)
        judging = Phase(AttemptMode.VALIDATE_ONLY, frozenset())
        return (judging, calling) if revalidate else (calling,)
    validation = assets & {TaskAsset.VALIDATION}
    scores = assets - validation
    if validation and TaskAsset.METRICS not in scores:
        return (Phase(AttemptMode.VALIDATE_ONLY, assets),)
    scoring = Phase(AttemptMode.METRICS_ONLY, scores)
    return (Phase(AttemptMode.VALIDATE_ONLY, validation), scoring) if validation else (scoring,)


def _check_settings(
    assets: frozenset[TaskAsset], *, calls: bool, force: bool, revalidate: bool
) -> None:
    if force and revalidate:
        raise dg.Failure(
            "`force: true` calls again whatever was accepted, which leaves `revalidate: true` "
            "nothing to judge; drop one of them",
            allow_retries=False,
        )
    if force and not calls:
        raise dg.Failure(
            "`force: true` asks for new calls, but neither the conversation nor the audio is "
            "selected; select one of them too",
            allow_retries=False,
        )
    if revalidate and not calls and TaskAsset.VALIDATION not in assets:
        raise dg.Failure(
            "`revalidate: true` asks for verdicts, but neither the validation nor the conversation "
            "is selected; select one of them too",
            allow_retries=False,
        )
