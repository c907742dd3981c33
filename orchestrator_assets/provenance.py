"""What `config.json` says: the resolved evaluation without its secrets, and what ran it."""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

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
    URLs. `dataset_path` repeats the data set under the name EVA's tools look for.
    """
    configuration = evaluation.model_dump(mode="json")
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
        "dataset_path": str(evaluation.data_set),
        "provenance": _provenance(evaluation),
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
        "dataset": {"path": str(evaluation.data_set), "sha256": _sha256(evaluation.data_set)},
        "captured_at": datetime.now(UTC).isoformat(),
    }


def _own_version() -> str | None:
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:
        return None


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
