"""What `config.json` says: the resolved evaluation without its secrets, and what ran it."""

from __future__ import annotations

import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from orchestrator_assets.data_source import DataSource, read_source, shown_source
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import Evaluation

REDACTED = "***"
_DISTRIBUTION = "orchestrator-assets"
_SECRET_NAME = re.compile(
    r"(?:^|[_\-.])(?:auth|authorization|bearer|credentials?|key|passw(?:or)?d|secret|token)s?$",
    re.IGNORECASE,
)
_SECRET_OPTION = re.compile(r"^(?P<option>--?(?P<name>[A-Za-z0-9_\-.]+))=.*$", re.DOTALL)


def resolved_configuration(evaluation: Evaluation) -> dict[str, Any]:
    """Return what `config.json` holds: every field of the evaluation, and `provenance`.

    Secrets are replaced by `***`: the values of agent parameters, command-line options and query
    parameters whose name ends in token, key, secret, password or the like, and the user part of
    URLs. What EVA's tools look for is repeated under the names they know.
    """
    configuration = evaluation.model_dump(mode="json")
    configuration["data_set"] = shown_source(evaluation.data_set)
    agent = configuration["agent"]
    for field in ("url", "call_report_url"):
        if agent[field] is not None:
            agent[field] = _redacted_url(agent[field])
    agent["parameters"] = {
        name: REDACTED if _SECRET_NAME.search(name) else value
        for name, value in agent["parameters"].items()
    }
    if agent["command"] is not None:
        agent["command"] = _redacted_command(agent["command"])
    return {
        **configuration,
        **_eva_fields(evaluation, agent["url"]),
        "provenance": _provenance(evaluation),
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


def _redacted_url(url: str) -> str:
    parts = urlsplit(url)
    netloc = parts.netloc
    if "@" in netloc:
        netloc = f"{REDACTED}@{netloc.rpartition('@')[2]}"
    query = parts.query
    pairs = parse_qsl(query, keep_blank_values=True)
    if any(_SECRET_NAME.search(name) for name, _ in pairs):
        safe = [(name, REDACTED if _SECRET_NAME.search(name) else value) for name, value in pairs]
        query = urlencode(safe, safe="*{}")
    return urlunsplit(parts._replace(netloc=netloc, query=query))


def _redacted_command(command: list[str]) -> list[str]:
    redacted: list[str] = []
    for word in command:
        previous = redacted[-1] if redacted else ""
        option = _SECRET_OPTION.match(word)
        if option is not None and _SECRET_NAME.search(option["name"]):
            redacted.append(f"{option['option']}={REDACTED}")
        elif previous.startswith("-") and _SECRET_NAME.search(previous):
            redacted.append(REDACTED)
        else:
            redacted.append(word)
    return redacted


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
