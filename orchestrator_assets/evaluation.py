"""The evaluation: data set, agent, caller, limits, validation and metrics, read from YAML."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from orchestrator_assets.attempts.outcomes import Cause
from orchestrator_assets.dagster_settings import DagsterSettings
from orchestrator_assets.data_source import DataSource, as_data_source, read_source, shown_source
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.fingerprints import fingerprint_of
from orchestrator_assets.judges.settings import JudgeSettings
from orchestrator_assets.metrics.composite_faults import composite_faults, threshold_faults
from orchestrator_assets.metrics.composites import Composite
from orchestrator_assets.metrics.registry import faults_of, metric_names
from orchestrator_assets.records import CallerVoice, Record, Task, parse_records, tasks_of

PLACEHOLDER_AGENT_URL = "ws://agent.invalid/media"
"""Stands for an agent whose address is not known yet. No host is ever called so (RFC 6761)."""

EVALUATION_NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_]{0,63}$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ClockKind(StrEnum):
    """Whose time a call runs on."""

    WALL = "wall"
    MEDIA = "media"


class Agent(_Strict):
    """How to reach the agent, and where wanted how to start it."""

    url: str = Field(
        pattern=r"^wss?://",
        description="Its WebSocket for Twilio Media Streams; `{port}` is a free port of `command`.",
    )
    command: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Starts the agent; the run stops it. `{port}` is replaced by a free port.",
    )
    start_timeout_seconds: float = Field(default=60, gt=0)
    call_report_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description=(
            "Answers after a call with JSON, each field optional: `initial_state`, `final_state`, "
            "`tool_calls`, `tools`, `agent_texts`, `instructions`. `{call_sid}` is the call, "
            "`{port}` as in `url`."
        ),
    )
    parameters: dict[str, str] = Field(
        default_factory=dict,
        description="Sent with every call (Twilio's customParameters); a record's own win.",
    )

    @property
    def is_placeholder(self) -> bool:
        """Whether the address is only there to be filled in: calls can't be placed."""
        return (urlsplit(self.url).hostname or "").endswith(".invalid")

    @model_validator(mode="after")
    def _port_needs_a_command(self) -> Self:
        for name in ("url", "call_report_url"):
            if "{port}" in (getattr(self, name) or "") and self.command is None:
                raise ValueError(
                    f"`{name}` has `{{port}}`, but there is no `command` to give it to"
                )
        return self


class Caller(_Strict):
    """The scripted caller."""

    voice: CallerVoice = CallerVoice()
    end_of_turn_seconds: float = Field(
        default=0.8, gt=0, description="Silence after which the agent's turn counts as ended."
    )
    speaks_first_after_seconds: float = Field(
        default=4.0, gt=0, description="Speak first if the agent has not greeted by then."
    )
    reply_delay_seconds: float = Field(
        default=0.2, ge=0, description="Pause between the agent's end of turn and the reply."
    )
    inactivity_timeout_seconds: float = Field(
        default=15.0, gt=0, description="Hang up when the agent has been silent for so long."
    )
    farewell_wait_seconds: float = Field(
        default=4.0, gt=0, description="After its last turn, hang up if no farewell comes by then."
    )


class SpeechJudge(StrEnum):
    """Who listens to the caller."""

    RECOGNISER = "recogniser"
    """The local speech-to-text."""
    AUDIO_JUDGE = "audio_judge"
    """The language model of the evaluation's `audio_judge`."""


class SpeechFidelityThresholds(_Strict):
    """What bounds the ratings of a caller turn, and who rates.

    Up to the space-free character error rate `rating_3` the turn is rated 3 (as meant), up to
    `rating_2` it is rated 2, above it 1. A turn of which a code, number, date, time or amount was
    not heard is rated 1 in any case, and so is one that is too quiet or clipped.
    """

    judged_by: SpeechJudge = SpeechJudge.RECOGNISER
    rating_3: float = Field(default=0.03, ge=0, le=1)
    rating_2: float = Field(default=0.05, ge=0, le=1)
    quietest_dbfs: float = Field(
        default=-45.0, le=0, description="Speech level below which a turn is rated 1."
    )
    most_clipped: float = Field(
        default=0.01, ge=0, le=1, description="Share of clipped samples above which it is."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.rating_3 > self.rating_2:
            raise ValueError("`rating_3` must not be above `rating_2`")
        return self


class Validation(_Strict):
    """The thresholds below which an attempt does not count."""

    user_behavioral_fidelity: float = Field(default=1.0, ge=0, le=1)
    user_speech_fidelity: SpeechFidelityThresholds = SpeechFidelityThresholds()


class Evaluation(_Strict):
    """A named configuration: one Dagster asset group and one run directory."""

    name: str = Field(
        pattern=EVALUATION_NAME_PATTERN,
        description="Letters, digits and underscores: it is also a Dagster asset group.",
    )
    data_set: Annotated[DataSource, AfterValidator(as_data_source)] = Field(
        description=(
            "A file, a folder of files (relative to the evaluation's own file), or a URL that "
            "fsspec can read."
        )
    )
    agent: Agent
    caller: Caller = Caller()
    clock: ClockKind = Field(
        default=ClockKind.WALL,
        description="`media` runs faster than real time with an agent that supports lockstep.",
    )
    num_trials: int = Field(default=1, ge=1, le=100)
    record_ids: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Only these records; all if absent."
    )
    debug: bool = Field(default=False, description="Only the first record.")
    max_attempts: int = Field(
        default=3, ge=0, le=20, description="Attempts a task may use in one invocation."
    )
    max_time_limit_attempts: int = Field(
        default=1,
        ge=0,
        description="Time-limited attempts after which a well-played one is accepted; 0: never.",
    )
    conversation_time_limit_seconds: float = Field(default=600, gt=0, le=10_000)
    retry_on: tuple[Cause, ...] = Field(
        default=tuple(Cause),
        description="Causes whose failed attempts are tried again; all, unless some are left out.",
    )
    max_concurrent_conversations: int = Field(default=4, ge=1, le=1_000)
    calls_per_worker: int = Field(
        default=10,
        ge=1,
        le=100,
        description="Live calls that one worker process holds at most.",
    )
    workers: int | None = Field(
        default=None,
        ge=1,
        le=1_000,
        description="Worker processes the calls are spread over; as many as they need if absent.",
    )
    validation: Validation = Validation()
    metrics: tuple[str, ...] = ("task_completion", "response_latency")
    composites: dict[str, Composite] = Field(
        default_factory=dict, description="Scores made of other scores, by name."
    )
    pass_thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict,
        description=(
            "Normalised score from which a trial has passed, by metric or composite, instead of "
            "the metric's own."
        ),
    )
    judge: JudgeSettings | None = Field(
        default=None, description="The language model that reads and judges."
    )
    audio_judge: JudgeSettings | None = Field(
        default=None, description="The language model that listens and judges."
    )
    success_rate_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of accepted tasks below which the `success_rate` check fails.",
    )
    output_dir: Path = Field(default=Path("runs"), description="Relative to the working directory.")
    dagster: DagsterSettings = DagsterSettings()

    @model_validator(mode="after")
    def _workers_hold_all_calls(self) -> Self:
        calls, per_worker = self.max_concurrent_conversations, self.calls_per_worker
        if self.workers is not None and self.workers * per_worker < calls:
            raise ValueError(
                f"`workers` {self.workers} times `calls_per_worker` {per_worker} is less than "
                f"`max_concurrent_conversations` {calls}; raise one of them or lower that"
            )
        return self

    @property
    def run_directory(self) -> Path:
        """`<output_dir>/<name>`, where everything the evaluation records lies."""
        return self.output_dir / self.name

    def load_tasks(self) -> list[Task]:
        """Read the data set and return the tasks, narrowed by `record_ids` and `debug`.

        Raises ConfigurationError for a faulty data set, and for ids in `record_ids` it lacks.
        """
        return self.tasks_among(parse_records(self.data_set, read_source(self.data_set)))

    def tasks_among(self, records: Sequence[Record]) -> list[Task]:
        """Return the tasks of a data set's records: see `load_tasks`."""
        if self.record_ids is not None:
            known = {record.id for record in records}
            missing = [wanted for wanted in self.record_ids if wanted not in known]
            if missing:
                where = shown_source(self.data_set)
                raise ConfigurationError(
                    Fault(where, f"record {wanted!r}", "is in record_ids, but not here")
                    for wanted in missing
                )
            wanted_ids = set(self.record_ids)
            records = [record for record in records if record.id in wanted_ids]
        if self.debug:
            records = records[:1]
        return tasks_of(records, self.num_trials)

    def call_fingerprint(self, record: Record) -> str:
        """Return the fingerprint of all that shapes a call of `record`: see `fingerprints`.

        A conversation with another fingerprint was made under other conditions and isn't reused.
        """
        fields = record.model_dump(mode="json", exclude={"id"}, exclude_defaults=True)
        return fingerprint_of(
            {
                "agent": self.agent.model_dump(mode="json", exclude={"start_timeout_seconds"}),
                "caller": self.caller.model_dump(mode="json"),
                "clock": self.clock.value,
                "conversation_time_limit_seconds": self.conversation_time_limit_seconds,
                **{f"record.{name}": value for name, value in fields.items()},
            }
        )


def not_named(evaluation: Evaluation, metric: str) -> str:
    """Return what to say of a metric that is asked for, but not among the evaluation's."""
    named = ", ".join(evaluation.metrics) or "none"
    return f"{metric!r} is not in `metrics` of {evaluation.name} ({named}); add it there first"


def load_evaluation(path: Path) -> Evaluation:
    """Read an evaluation from YAML.

    Raises ConfigurationError, listing every fault of the file and of what it refers to.
    """
    return evaluation_from(_read_mapping(path), path)


def evaluation_from(values: dict[str, Any], path: Path) -> Evaluation:
    """Return the evaluation of these fields, as if `path` held them and nothing else.

    Raises ConfigurationError as `load_evaluation` does.
    """
    try:
        evaluation = Evaluation.model_validate(values)
    except ValidationError as error:
        faults = [_fault(path, detail) for detail in error.errors()]
        raise ConfigurationError([*faults, *_missing_data_set(path, values)]) from error
    evaluation = evaluation.model_copy(
        update={
            "data_set": _from_its_file(path, evaluation.data_set),
            "output_dir": evaluation.output_dir.absolute(),
        }
    )
    faults = [*_missing_data_set(path, values), *_metric_faults(path, evaluation)]
    faults += [*_composite_faults(path, evaluation), *_judge_faults(path, evaluation)]
    if faults:
        raise ConfigurationError(faults)
    return evaluation


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError([Fault(path, "", f"can't be read: {error.strerror}")]) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError([Fault(path, "", f"can't be parsed: {error}")]) from error
    if not isinstance(values, dict):
        raise ConfigurationError([Fault(path, "", "must be a mapping of an evaluation's fields")])
    return values


def _fault(path: Path, detail: Any) -> Fault:
    location = ".".join(str(part) for part in detail["loc"])
    message = detail["msg"]
    if detail["type"] == "extra_forbidden":
        message = "is not a field of an evaluation; check its spelling"
    return Fault(path, location, message)


def _from_its_file(path: Path, data_set: DataSource) -> DataSource:
    return path.parent.resolve() / data_set if isinstance(data_set, Path) else data_set


def _missing_data_set(path: Path, values: dict[str, Any]) -> list[Fault]:
    named = values.get("data_set")
    # Whether a URL can be read is not asked here: definitions must load without a network.
    if not isinstance(named, str) or not isinstance(local := as_data_source(named), Path):
        return []
    place = path.parent / local
    if place.is_file() or place.is_dir():
        return []
    return [Fault(path, "data_set", f"there is no file {place}")]


def _metric_faults(path: Path, evaluation: Evaluation) -> list[Fault]:
    # Here rather than in the model, so that it is listed together with a missing data set.
    faults = faults_of(evaluation.metrics, has_judge=evaluation.judge is not None)
    return [Fault(path, f"metrics.{index}", message) for index, message in faults]


def _composite_faults(path: Path, evaluation: Evaluation) -> list[Fault]:
    composites, metrics, known = evaluation.composites, evaluation.metrics, metric_names()
    found = [
        *composite_faults(composites, metrics, known),
        *threshold_faults(evaluation.pass_thresholds, composites, metrics, known),
    ]
    return [Fault(path, each.location, each.message) for each in found]


def _judge_faults(path: Path, evaluation: Evaluation) -> list[Fault]:
    listens = evaluation.validation.user_speech_fidelity.judged_by is SpeechJudge.AUDIO_JUDGE
    if not listens or evaluation.audio_judge is not None:
        return []
    message = (
        "is audio_judge, but the evaluation names none; add `audio_judge` with its `model`, "
        "or `audio_judge: {}` to take model and key from the environment"
    )
    return [Fault(path, "validation.user_speech_fidelity.judged_by", message)]
