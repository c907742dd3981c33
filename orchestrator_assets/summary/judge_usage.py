"""What judging has cost, by metric: every request that was answered, of archived attempts too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.summary.task_state import TaskState

_DECIMALS = 9


def judge_usage(states: Sequence[TaskState]) -> dict[str, Any]:
    """Return model, calls, tokens and cost by metric, and in total: see JudgeUse.

    `cost_usd` is None where no price is known; where only some calls have one, it is what those
    cost, and `unpriced_calls` says how many had none. The total is None where no judge was asked.
    """
    by_metric: dict[str, list[JudgeUse]] = defaultdict(list)
    for state in states:
        for metric, uses in state.judge_use.items():
            by_metric[metric] += uses
    names = sorted(by_metric)
    return {
        "total": _sum(use for name in names for use in by_metric[name]),
        "per_metric": {name: _sum(by_metric[name]) for name in names},
    }


def _sum(uses: Iterable[JudgeUse]) -> dict[str, Any] | None:
    total = JudgeUse.total(uses)
    if total is None:
        return None
    cost = None if total.cost_usd is None else round(total.cost_usd, _DECIMALS)
    return {**total.model_dump(mode="json"), "cost_usd": cost}
