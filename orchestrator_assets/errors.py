"""The exceptions this package raises.

OrchestratorError
├── ConfigurationError      what the user wrote cannot be used; lists every fault at once
├── ConversationFileError   a file that a call left behind is missing or damaged
├── RunDirectoryError       a run directory is damaged, or another process works on it
├── SpeechEngineError       a speech engine or its model files are missing or broken
├── PreflightError          nothing is wrong with the configuration, but no call can be placed
│   ├── AgentStartError     the agent's own command did not come up
│   └── StorageError        the run directory can't be written to: full, over quota, read-only
├── JudgeError              a judge can't be asked, or gave no usable answer
├── TransportError          the connection to the agent failed or broke the protocol
├── ProviderBusyError       nothing was called: a provider asks to be tried again later
└── InterruptedCallError    the call was interrupted through no fault of its own
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator_assets.judges.use import JudgeUse


class OrchestratorError(Exception):
    """Base of every error this package raises on purpose."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a file the user wrote.

    `location` names the field (`agent.url`) or the record and field (`record 'x', turns.1.say`).
    `file` is text where it is a URL.
    """

    file: Path | str | None
    location: str
    message: str

    def __str__(self) -> str:
        where = ": ".join(part for part in (str(self.file or ""), self.location) if part)
        return f"{where}: {self.message}" if where else self.message


class ConfigurationError(OrchestratorError):
    """An evaluation or data set that cannot be used. `faults` lists everything found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        heading = "1 fault" if count == 1 else f"{count} faults"
        super().__init__("\n".join([f"{heading} in the configuration:", *map(str, self.faults)]))


class ConversationFileError(OrchestratorError):
    """A file that a call left behind is missing or damaged. `line` counts from 1."""

    def __init__(self, path: Path, message: str, line: int | None = None) -> None:
        self.path = path
        self.line = line
        where = str(path) if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {message}")


class RunDirectoryError(OrchestratorError):
    """A run directory is damaged, or another process works on it."""


class SpeechEngineError(OrchestratorError):
    """A speech engine is not installed, or its model files are missing or broken."""


class PreflightError(OrchestratorError):
    """No call can be placed: the agent, a speech engine or the disk is not ready.

    `faults` are all that were found, one line each.
    """

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__(
            faults[0]
            if len(faults) == 1
            else "\n  ".join([f"{len(faults)} faults, so that nobody can be called:", *faults])
        )


class AgentStartError(PreflightError):
    """The agent's own command ended, or did not listen in time."""


class StorageError(PreflightError):
    """The run directory can't be written to: the disk is full, over quota or read-only."""


class JudgeError(OrchestratorError):
    """A judge can't be asked, or gave no usable answer.

    `use` is what asking took, `raw_answer` the answer that can't be used, if there was one.
    """

    def __init__(
        self, message: str, *, use: JudgeUse | None = None, raw_answer: str | None = None
    ) -> None:
        self.use = use
        self.raw_answer = raw_answer
        super().__init__(message)


class TransportError(OrchestratorError):
    """The connection to the agent failed, or the peer broke the protocol."""


class ProviderBusyError(OrchestratorError):
    """Nothing was called, for a provider is busy (HTTP 429); it costs no attempt to try later.

    `retry_after_seconds` is what the provider asked for, if it said so.
    """

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class InterruptedCallError(OrchestratorError):
    """The call was interrupted through no fault of its own, and is to be placed again."""
