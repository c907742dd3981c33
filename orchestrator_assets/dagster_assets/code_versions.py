"""Which version of the code an asset is made by, and which one made what lies on disk.

The metrics follow the versions of the evaluation's metrics, the validation those of its judges: one
that changes makes the partitions it scored stale, and nothing else. What a materialisation says is
taken from the scores themselves, so that a reused conversation does not pass for scored again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.dagster_assets.keys import UPSTREAM, TaskAsset, task_asset_key
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.metrics.registry import code_versions, create_metrics
from orchestrator_assets.validation.versions import recorded_version, validation_versions

# Raise it when what the asset holds is computed differently.
_OWN_VERSIONS = {
    TaskAsset.CONVERSATION: "1",
    TaskAsset.AUDIO: "1",
    TaskAsset.RECORD_SUMMARY: "1",
}
SUMMARY_VERSION = "2"
_NOT_COMPUTED = "none"
_DIGITS = 16

# Names that Dagster gives no public constant for.
_CODE_VERSION_TAG = "dagster/code_version"
_DATA_VERSION_TAG = "dagster/data_version"
_INPUT_VERSION_TAG = "dagster/input_data_version"
_INPUT_POINTER_TAG = "dagster/input_event_pointer"
_NO_POINTER = "NULL"


def code_version(evaluation: Evaluation, asset: TaskAsset) -> str:
    """Return the version of the code that makes the asset now."""
    if asset in _OWN_VERSIONS:
        return _OWN_VERSIONS[asset]
    return _joined(_current_versions(evaluation, asset))


def version_tags(evaluation: Evaluation, asset: TaskAsset, outcome: TaskOutcome) -> dict[str, str]:
    """Return the tags by which Dagster knows which code made the accepted task's asset, from what.

    No upstream event is pointed at: a new conversation renews every asset of its task in any case,
    and judging one again leaves its scores as they are.
    """
    tags = {
        _CODE_VERSION_TAG: _recorded_version(evaluation, asset, outcome),
        _DATA_VERSION_TAG: _data_version(asset, outcome),
    }
    for upstream in UPSTREAM[asset]:
        tags |= _input_tags(evaluation, upstream, _data_version(upstream, outcome))
    return tags


def summary_version_tags(evaluation: Evaluation, summary: str) -> dict[str, str]:
    """Return the tags of the evaluation's summary, whose text is `summary`.

    It is written anew by every run, so no partition makes it stale: one that failed, and so was
    never materialised, would for ever.
    """
    digest = _digest(summary)
    return {
        _CODE_VERSION_TAG: SUMMARY_VERSION,
        _DATA_VERSION_TAG: digest,
        **_input_tags(evaluation, TaskAsset.RECORD_SUMMARY, digest),
    }


def _input_tags(evaluation: Evaluation, upstream: TaskAsset, version: str) -> dict[str, str]:
    name = task_asset_key(evaluation.name, upstream).to_user_string()
    return {
        f"{_INPUT_VERSION_TAG}/{name}": version,
        f"{_INPUT_POINTER_TAG}/{name}": _NO_POINTER,
    }


def _current_versions(evaluation: Evaluation, asset: TaskAsset) -> dict[str, str]:
    if asset is TaskAsset.METRICS:
        return code_versions(create_metrics(evaluation.metrics))
    return validation_versions(evaluation.validation, has_judge=evaluation.judge is not None)


def _recorded_version(evaluation: Evaluation, asset: TaskAsset, outcome: TaskOutcome) -> str:
    if asset in _OWN_VERSIONS:
        return _OWN_VERSIONS[asset]
    current = _current_versions(evaluation, asset)
    scores = _scores(asset, outcome)
    if asset is TaskAsset.VALIDATION:
        has_judge = evaluation.judge is not None
        return _joined(
            {
                name: recorded_version(
                    name, scores.get(name), evaluation.validation, has_judge=has_judge
                )
                for name in current
            }
        )
    return _joined(
        {
            name: _version(scores[name], now) if name in scores else _NOT_COMPUTED
            for name, now in current.items()
        }
    )


def _version(score: MetricScore | None, unless_known: str) -> str:
    return unless_known if score is None or score.version is None else score.version


def _joined(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or _NOT_COMPUTED


def _data_version(asset: TaskAsset, outcome: TaskOutcome) -> str:
    attempt = f"attempt {outcome.accepted_attempt}"
    if asset in (TaskAsset.CONVERSATION, TaskAsset.AUDIO):
        return attempt
    held = TaskAsset.METRICS if asset is TaskAsset.RECORD_SUMMARY else asset
    scores = {name: score.model_dump(mode="json") for name, score in _scores(held, outcome).items()}
    text = json.dumps([attempt, scores], ensure_ascii=False, sort_keys=True)
    return _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _scores(asset: TaskAsset, outcome: TaskOutcome) -> Mapping[str, MetricScore]:
    if asset is TaskAsset.METRICS:
        return outcome.metrics or {}
    for attempt in outcome.attempts:
        if attempt.number == outcome.accepted_attempt and attempt.validation is not None:
            return attempt.validation.scores
    return {}
