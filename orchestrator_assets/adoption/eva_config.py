"""EVA's `config.json`, as far as an evaluation can be made of it; old names included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from orchestrator_assets.errors import ConfigurationError, Fault

CONFIG_FILE = "config.json"
DEFAULT_THRESHOLD = 1.0
_MAX_TIME_LIMIT_ATTEMPTS = "max_time_limit_attempts"


class EvaConfig(BaseModel):
    """The fields that carry over. Whatever else EVA configured is of no use to us."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    run_id: str | None = None
    dataset_path: Path | None = None
    num_trials: int = Field(default=1, ge=1, le=100)
    record_ids: tuple[str, ...] | None = None
    debug: bool = False
    validation_thresholds: dict[str, float] = {}
    max_concurrent_conversations: int = Field(default=1, ge=1, le=1_000)
    conversation_time_limit_seconds: float = Field(
        default=600,
        gt=0,
        le=10_000,
        validation_alias=AliasChoices(
            "conversation_time_limit_seconds", "conversation_timeout_seconds"
        ),
    )

    def threshold(self, metric: str) -> float:
        """Return the score below which a validation metric failed."""
        return self.validation_thresholds.get(metric, DEFAULT_THRESHOLD)

    @property
    def max_time_limit_attempts(self) -> int:
        """How many attempts may run into the time limit before one of them is accepted."""
        return max(0, int(self.validation_thresholds.get(_MAX_TIME_LIMIT_ATTEMPTS, 1)))


def read_eva_config(directory: Path) -> EvaConfig:
    """Read a run directory's configuration.

    Raises ConfigurationError if it is not one of EVA's run directories, or if the file is damaged.
    """
    path = directory / CONFIG_FILE
    if not directory.is_dir():
        raise ConfigurationError([Fault(directory, "", "is not a directory")])
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        message = f"is not a run directory of EVA's: it has no {CONFIG_FILE}"
        raise ConfigurationError([Fault(directory, "", message)]) from error
    except OSError as error:
        raise ConfigurationError([Fault(path, "", f"can't be read: {error.strerror}")]) from error
    except ValueError as error:
        message = f"is damaged or was cut off; restore it from a backup: {error}"
        raise ConfigurationError([Fault(path, "", message)]) from error
    _refuse_our_own(directory, content)
    try:
        return EvaConfig.model_validate(content)
    except ValidationError as error:
        raise ConfigurationError(_faults(path, error)) from error


def _refuse_our_own(directory: Path, content: Any) -> None:
    if isinstance(content, dict) and isinstance(content.get("agent"), dict):
        message = "is a run directory of an evaluation already; run that evaluation instead"
        raise ConfigurationError([Fault(directory, "", message)])


def _faults(path: Path, error: ValidationError) -> Iterator[Fault]:
    for detail in error.errors():
        yield Fault(path, ".".join(str(part) for part in detail["loc"]), detail["msg"])
