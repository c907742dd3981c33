"""What `config.json` says: the resolved evaluation without its secrets, and what ran it."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from orchestrator_assets.data_source import DataSource, read_source, shown_source
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.redaction import (
    redacted_command,
    redacted_fields,
    redacted_url,
    redacted_value,
)

_DISTRIBUTION = "orchestrator-assets"


def resolved_configuration(evaluation: Evaluation) -> dict[str, Any]:
    """Return what `config.json` holds: every field of the evaluation, and `provenance`.

    Secrets are replaced by `***`: the values of agent parameters, command-line options, query
    parameters and what else is sent to judges whose name ends in token, key, secret, password or
    the like, and the user part of URLs. What EVA's tools look for is repeated under the names they
    know.
    """
    configuration = evaluation.model_dump(mode="json")
    configuration["data_set"] = shown_source(evaluation.data_set)
    agent = configuration["agent"]
    for field in ("url", "call_report_url"):
        if agent[field] is not None:
            agent[field] = redacted_url(agent[field])
    agent["parameters"] = {
        name: redacted_value(name, value) for name, value in agent["parameters"].items()
    }
    if agent["command"] is not None:
        agent["command"] = redacted_command(agent["command"])
    for judge in ("judge", "audio_judge"):
        if configuration[judge] is not None:
            configuration[judge] = _redacted_judge(configuration[judge])
    return {
        **configuration,
        **_eva_fields(evaluation, agent["url"]),
        "provenance": _provenance(evaluation),
    }


def _redacted_judge(settings: dict[str, Any]) -> dict[str, Any]:
    base_url = settings["base_url"]
    return {
        **settings,
        "base_url": None if base_url is None else redacted_url(base_url),
        "extra_body": redacted_fields(settings["extra_body"]),
    }


def _eva_fields(evaluation: Evaluation, agent_url: str) -> dict[str, Any]:
    """Return the fields that EVA's metrics runner and its Streamlit app read.

    The agent is a black box that takes in audio, of which EVA's nearest kind is the audio language
    model: for that, EVA takes what was said from the caller, not from the agent's ears. Its judges
    also want an `agent_config_path`, the agent's instructions and tools; nobody knows those.
    """
    return {
        "run_id": evaluation.name,
        "domain": evaluation.name,
        "language": "en",
        "framework": "orchestrator_assets",
        "dataset_path": shown_source(evaluation.data_set),
        "agent_config_path": None,
        "model": {"audio_llm": agent_url},
        "model_list": [],
        "max_rerun_attempts": evaluation.max_attempts,
        "validation_thresholds": {
            "conversation_valid_end": 1.0,
            "user_behavioral_fidelity": evaluation.validation.user_behavioral_fidelity,
            "max_time_limit_attempts": evaluation.max_time_limit_attempts,
        },
    }


def _provenance(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "orchestrator_assets_version": _own_version(),
        "python_version": sys.version.split()[0],
        "platform": platform.platform(),
        "dataset": {
            "path": shown_source(evaluation.data_set),
            "sha256": _sha256(evaluation.data_set),
        },
        "captured_at": datetime.now(UTC).isoformat(),
    }


def _own_version() -> str | None:
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:
        return None


def _sha256(source: DataSource) -> str | None:
    try:
        return read_source(source).sha256
    except ConfigurationError:
        return None
