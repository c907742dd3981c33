"""The evaluation of an adopted run, and the file people edit before they let it call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from orchestrator_assets.adoption.eva_config import EvaConfig
from orchestrator_assets.adoption.eva_run import EvaRun
from orchestrator_assets.call.conversation import AGENT_AUDIO_FILE, CALLER_AUDIO_FILE
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.evaluation import PLACEHOLDER_AGENT_URL, Evaluation
from orchestrator_assets.records import Record
from orchestrator_assets.store.atomic import write_text
from orchestrator_assets.validation.result import USER_BEHAVIORAL_FIDELITY

_ATTEMPTS = 3
_HEADER = """\
# Adopted from {source},
# whose files the run directory links to: it must stay where it is.
#
# Judging, metrics and summaries call nobody. To call again what failed, put your agent's address
# into agent.url (Twilio Media Streams; EVA's own servers speak another dialect), and raise
# max_attempts. What was adopted is kept until a run with --force.
"""
_NO_SCRIPT = """\
# The records need `turns` before that, for the caller to have something to say.
"""
_METRICS_HEADER = """\
# What is measured in the recordings, such as response_latency, is left out: not all are there.
"""

_TOLD_METRICS = (
    "task_completion",
    "agent_transcript_wer",
    "tool_call_validity",
    "conversation_completed_on_time",
    "turns",
)
"""What EVA's own files tell."""
_HEARD_METRICS = ("response_latency", "turn_taking", "agent_interruptions", "dead_air")


def make_evaluation(
    path: Path,
    *,
    name: str,
    config: EvaConfig,
    run: EvaRun,
    data_set: Path,
    output_dir: Path,
    agent_url: str | None,
    records: Sequence[Record],
) -> Evaluation:
    """Return the evaluation that goes on where EVA's run has stopped.

    Raises ConfigurationError if EVA's settings, the name or the agent's address can't be used.
    """
    can_call = agent_url is not None and _has_script(records)
    threshold = min(1.0, max(0.0, config.threshold(USER_BEHAVIORAL_FIDELITY)))
    values: dict[str, Any] = {
        "name": name,
        "data_set": data_set,
        "agent": {"url": agent_url or PLACEHOLDER_AGENT_URL},
        "num_trials": max(config.num_trials, run.num_trials),
        "record_ids": _chosen_records(config, run, records),
        "max_attempts": _ATTEMPTS if can_call else 0,
        "max_time_limit_attempts": config.max_time_limit_attempts,
        "conversation_time_limit_seconds": config.conversation_time_limit_seconds,
        "max_concurrent_conversations": config.max_concurrent_conversations,
        "validation": {USER_BEHAVIORAL_FIDELITY: threshold},
        "metrics": _metrics(run),
        "output_dir": output_dir,
    }
    try:
        return Evaluation.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError(
            Fault(path, ".".join(map(str, detail["loc"])), detail["msg"])
            for detail in error.errors()
        ) from error


def _chosen_records(
    config: EvaConfig, run: EvaRun, records: Sequence[Record]
) -> tuple[str, ...] | None:
    """Return the records that EVA was told to call, or has called all the same; None for all."""
    if config.record_ids is None and not config.debug:
        return None
    chosen = {*(() if config.debug else config.record_ids or ()), *run.record_ids}
    known = [record.id for record in records if record.id in chosen]
    return None if len(known) == len(records) else tuple(known)


def _metrics(run: EvaRun) -> tuple[str, ...]:
    tracks = (CALLER_AUDIO_FILE, AGENT_AUDIO_FILE)
    recorded = all(
        (found.directory / track).is_file()
        for found in run.conversations
        if found.archive is None
        for track in tracks
    )
    return (*_TOLD_METRICS, *_HEARD_METRICS) if recorded else _TOLD_METRICS


def write_evaluation_file(
    path: Path, evaluation: Evaluation, source: Path, *, records: Sequence[Record]
) -> None:
    """Write the evaluation as YAML, with a word on what to fill in. Raises OSError."""
    values = evaluation.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    if Path(evaluation.data_set).parent == path.parent:
        values["data_set"] = Path(evaluation.data_set).name
    metrics = values.pop("metrics")
    text = _HEADER.format(source=source)
    if not _has_script(records):
        text += _NO_SCRIPT
    text += _yaml(values)
    if not set(_HEARD_METRICS) & set(metrics):
        text += _METRICS_HEADER
    write_text(path, text + _yaml({"metrics": metrics}))


def _has_script(records: Sequence[Record]) -> bool:
    return all(record.turns for record in records)


def _yaml(values: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
    return text
