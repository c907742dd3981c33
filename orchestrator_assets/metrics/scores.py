"""`metrics.json`: all scores of a conversation, in the shape of EVA's RecordMetrics.

A merge works on the JSON itself, so that what other tools wrote (a context, aggregate metrics,
fields of a score this package doesn't know) stays as it is.

The file belongs to one conversation, so a score in it is never of another one. An error therefore
replaces an earlier error, and what was skipped, but no score: that one stays, and says of itself
that it could not be computed again.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator_assets.call.conversation import METRICS_FILE
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.store.atomic import write_json

_DAMAGED_SUFFIX = ".damaged"
_logger = logging.getLogger(__name__)
# Validation and metrics of one conversation may merge at the same time, from different threads.
_merging = threading.Lock()


def read_scores(directory: Path) -> dict[str, MetricScore]:
    """Return the scores in the directory's `metrics.json`, by name; none if there is no such file.

    Raises ConversationFileError for a damaged file.
    """
    path = directory / METRICS_FILE
    scores = {}
    for name, value in _read(path)["metrics"].items():
        try:
            scores[name] = MetricScore.model_validate(value)
        except ValidationError as error:
            raise ConversationFileError(path, f"{name} is not a score: {error}") from error
    return scores


def merge_scores(
    directory: Path, record_id: str, scores: Mapping[str, MetricScore]
) -> dict[str, MetricScore]:
    """Put the scores into the directory's `metrics.json`, and leave all others there alone.

    Returns what stands there now under the names of `scores`: where one is an error and there was a
    score, that is the earlier score with its `latest_error` set. A damaged file is set aside as
    `metrics.json.damaged` and a new one begun: scores can be computed again, so they must not cost
    a conversation.
    """
    path = directory / METRICS_FILE
    with _merging:
        try:
            document = _read(path)
        except ConversationFileError as error:
            aside = path.with_name(path.name + _DAMAGED_SUFFIX)
            path.replace(aside)
            _logger.warning("%s; set aside as %s, scores begin anew", error, aside.name)
            document = _empty()
        document["record_id"] = record_id
        held, standing = document["metrics"], {}
        for name, score in scores.items():
            earlier = _earlier_score(held.get(name)) if score.error is not None else None
            if earlier is None:
                standing[name] = score
                held[name] = score.model_dump(mode="json")
            else:
                standing[name] = earlier.model_copy(update={"latest_error": score.error})
                held[name]["latest_error"] = score.error
        write_json(path, document)
    return standing


def _earlier_score(value: Any) -> MetricScore | None:
    """Return a score that no error may replace; None for one that errored or was skipped."""
    try:
        earlier = MetricScore.model_validate(value)
    except ValidationError:
        return None
    return None if earlier.error is not None or earlier.skipped else earlier


def _empty() -> dict[str, Any]:
    return {"record_id": "", "context": None, "metrics": {}, "aggregate_metrics": {}}


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return _empty()
    except OSError as error:
        raise ConversationFileError(path, f"can't be read: {error.strerror}") from error
    except ValueError as error:
        raise ConversationFileError(path, f"is not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("metrics"), dict):
        raise ConversationFileError(path, "must be a JSON object with an object `metrics`")
    return document
