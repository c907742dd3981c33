"""Records (the scenarios of a data set), and the tasks an evaluation makes of them.

A data set is a file: JSON or YAML with a list of records, JSON lines with a record a line, or
ServiceNow EVA's `*_dataset.json`; or a folder of such files; or the URL of either, in any place
fsspec can read. Whatever a record holds beyond the fields below is kept in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple, Self

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from orchestrator_assets.data_source import (
    DATA_SET_SUFFIXES,
    JSON_LINES_SUFFIXES,
    JSON_SUFFIXES,
    YAML_SUFFIXES,
    DataSource,
    SourceContent,
    SourceFile,
    as_data_source,
    read_source,
    shown_source,
)
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.eva_placeholders import fill_in
from orchestrator_assets.partition_keys import encode_record_id


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptedTurn(_Strict):
    """What the scripted caller says in one turn, and when it starts."""

    say: str = Field(min_length=1, description="The text to say, as one would write it.")
    barge_in_after_seconds: float | None = Field(
        default=None,
        ge=0,
        description="Start this many seconds into the agent's speech instead of after its end.",
    )


def _turn_from_text(value: Any) -> Any:
    return {"say": value} if isinstance(value, str) else value


class CallerVoice(_Strict):
    """How the caller sounds. Pitch is relative to the engine's own voice (1.0)."""

    pitch: float = Field(default=1.1, ge=0.8, le=1.25)
    speed: float = Field(default=1.0, ge=0.8, le=1.2)


class CallerFaultKind(StrEnum):
    """What a caller can be told to do wrong, to show that validation notices."""

    MISSPEAK = "misspeak"
    """It says something else: see `CallerFault.spoken`."""
    SKIP_TURN = "skip_turn"
    HANG_UP_EARLY = "hang_up_early"
    """It hangs up where the turn was due."""
    GARBLE = "garble"
    """The turn is as loud as ever, and not a word of it can be understood."""
    TOO_QUIET = "too_quiet"
    """The turn is so quiet that nobody hears it."""
    CLIP = "clip"
    """The turn is driven far into full scale."""


class CallerFault(_Strict):
    """A mistake planted in the simulated caller.

    `turn` counts from 0. `attempts` are the attempts that make the mistake; all of them if absent.
    """

    kind: CallerFaultKind
    turn: int = Field(ge=0, description="Index of the scripted turn that goes wrong, from 0.")
    spoken: str | None = Field(
        default=None, description="What is audible instead of the turn's text (misspeak)."
    )
    attempts: tuple[int, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _misspeaking_needs_words(self) -> Self:
        if (self.spoken is not None) != (self.kind is CallerFaultKind.MISSPEAK):
            raise ValueError("`spoken` goes with `kind: misspeak`, and only with it")
        return self

    def applies_to(self, attempt: int) -> bool:
        """Tell whether the given attempt makes this mistake."""
        return self.attempts is None or attempt in self.attempts


class ExpectedOutcome(_Strict):
    """The state the agent's world should be in after the call.

    Either `state`, the whole final state, or `changes`: every difference from the initial state,
    keyed by JSON Pointer (RFC 6901), with `null` for what should be gone.
    """

    state: dict[str, Any] | None = None
    changes: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.state is None) == (self.changes is None):
            raise ValueError("give either `state` or `changes`")
        return self

    @field_validator("changes")
    @classmethod
    def _pointers(cls, changes: dict[str, Any] | None) -> dict[str, Any] | None:
        for pointer in changes or {}:
            if not pointer.startswith("/"):
                raise ValueError(f"{pointer!r} is not a JSON Pointer: it must start with '/'")
        return changes


class Record(BaseModel):
    """One scenario: who calls, what they want and say, and what should come of it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str = Field(min_length=1)
    persona: str | None = None
    goal: str | None = None
    turns: tuple[Annotated[ScriptedTurn, BeforeValidator(_turn_from_text)], ...] = ()
    expected_outcome: ExpectedOutcome | None = None
    agent_parameters: dict[str, str] = Field(
        default_factory=dict,
        description="Sent to the agent at the start of the call (Twilio's customParameters).",
    )
    caller_voice: CallerVoice | None = Field(
        default=None,
        description="How this caller sounds; the evaluation's `caller.voice` if absent.",
    )
    caller_faults: tuple[CallerFault, ...] = ()

    @field_validator("id")
    @classmethod
    def _encodable(cls, record_id: str) -> str:
        encode_record_id(record_id)
        return record_id

    @model_validator(mode="after")
    def _faults_name_turns(self) -> Self:
        for fault in self.caller_faults:
            if fault.turn >= len(self.turns):
                raise ValueError(
                    f"caller_faults names turn {fault.turn}, but there are {len(self.turns)} turns"
                )
        return self

    @property
    def key(self) -> str:
        """The id as a partition key and directory name."""
        return encode_record_id(self.id)


@dataclass(frozen=True, slots=True)
class Task:
    """A record, and with several trials the trial: the unit that is called, judged and scored."""

    record: Record
    trial: int | None = None

    @property
    def id(self) -> str:
        """`record.id`, or `record.id/trial_0` and so on with several trials."""
        return self.record.id if self.trial is None else f"{self.record.id}/trial_{self.trial}"

    @property
    def key(self) -> str:
        """The Dagster partition key."""
        return self.record.key if self.trial is None else f"{self.record.key}:trial_{self.trial}"

    @property
    def path(self) -> PurePosixPath:
        """The task's directory below `records/` of the run directory."""
        path = PurePosixPath(self.record.key)
        return path if self.trial is None else path / f"trial_{self.trial}"


def tasks_of(records: Iterable[Record], num_trials: int = 1) -> list[Task]:
    """Return the tasks of the records, in their order, the trials of a record side by side."""
    trials: list[int | None] = [None] if num_trials == 1 else list(range(num_trials))
    return [Task(record, trial) for record in records for trial in trials]


def load_records(source: DataSource) -> list[Record]:
    """Read a data set, in its order; the files of a folder in the order of their names.

    Raises ConfigurationError, listing every fault by file, record and field.
    """
    source = as_data_source(source)
    return parse_records(source, read_source(source))


def parse_records(source: DataSource, content: SourceContent) -> list[Record]:
    """Return the records of a data set that has been read: see `load_records`."""
    faults: list[Fault] = []
    found: list[_FoundRecord] = []
    for file in content.files:
        try:
            rows = _rows(file)
        except ConfigurationError as error:
            faults.extend(error.faults)
            continue
        for position, row in enumerate(rows, start=1):
            try:
                record = Record.model_validate(_from_eva(row) if _is_eva(row) else row)
                found.append(_FoundRecord(file.name, record))
            except ValidationError as error:
                faults.extend(_record_faults(file.name, position, row, error))
    faults.extend(_repeated_ids(found))
    if not found and not faults:
        shown = source if isinstance(source, Path) else shown_source(source)
        faults.append(Fault(shown, "", "holds no record; write at least one"))
    if faults:
        raise ConfigurationError(faults)
    return [each.record for each in found]


class _FoundRecord(NamedTuple):
    file: DataSource
    record: Record


def _rows(file: SourceFile) -> list[Any]:
    name = file.name
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError([Fault(name, "", f"is not UTF-8: {error.reason}")]) from error
    try:
        if file.suffix in JSON_LINES_SUFFIXES:
            return list(_json_lines(name, text))
        if file.suffix in JSON_SUFFIXES:
            rows = json.loads(text)
        elif file.suffix in YAML_SUFFIXES:
            rows = yaml.safe_load(text)
        else:
            known = ", ".join(sorted(DATA_SET_SUFFIXES))
            raise ConfigurationError([Fault(name, "", f"unknown file type; use one of {known}")])
    except (json.JSONDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError([Fault(name, "", f"can't be parsed: {error}")]) from error
    if isinstance(rows, Mapping) and "records" in rows:
        rows = rows["records"]
    if rows is None:
        return []
    if not isinstance(rows, list):
        raise ConfigurationError(
            [Fault(name, "", f"must be a list of records, but is a {type(rows).__name__}")]
        )
    return rows


def _json_lines(path: DataSource, text: str) -> Iterator[Any]:
    # Not splitlines(): U+2028 and its like may stand unescaped inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise ConfigurationError(
                [Fault(path, f"line {number}", f"can't be parsed: {error}")]
            ) from error


def _record_faults(
    path: DataSource, position: int, row: Any, error: ValidationError
) -> Iterator[Fault]:
    record_id = row.get("id") if isinstance(row, Mapping) else None
    name = f"record {record_id!r}" if record_id else f"record number {position}"
    for detail in error.errors():
        field = ".".join(str(part) for part in detail["loc"])
        yield Fault(path, f"{name}, {field}" if field else name, detail["msg"])


def _repeated_ids(found: Sequence[_FoundRecord]) -> Iterator[Fault]:
    files: dict[str, list[DataSource]] = {}
    for each in found:
        files.setdefault(each.record.id, []).append(each.file)
    by_folded_key: dict[str, str] = {}
    for record_id, places in files.items():
        if len(places) > 1:
            yield Fault(places[0], f"record {record_id!r}", _repeated(places))
        twin = by_folded_key.setdefault(encode_record_id(record_id).casefold(), record_id)
        if twin != record_id:
            yield Fault(
                places[0],
                f"record {record_id!r}",
                f"differs from record {twin!r} only in case, which some file systems merge; "
                "rename one",
            )


def _repeated(places: Sequence[DataSource]) -> str:
    others = [str(place) for place in dict.fromkeys(places) if place != places[0]]
    if not others:
        return f"the id stands {len(places)} times; rename all but one"
    return f"the id stands in {', '.join(others)} too; rename all but one"


def _is_eva(row: Any) -> bool:
    return isinstance(row, Mapping) and "user_goal" in row and "ground_truth" in row


def _from_eva(row: Mapping[str, Any]) -> dict[str, Any]:
    """Map EVA's EvaluationRecord onto ours; all its fields stay beside the mapped ones.

    EVA's caller is an LLM that is told its goal, so there are no scripted turns to map.
    """
    row = fill_in(row)
    goal = row["user_goal"]
    persona = row.get("user_config")
    state = row["ground_truth"].get("expected_scenario_db")
    return {
        **row,
        "goal": goal.get("high_level_user_goal") if isinstance(goal, Mapping) else goal,
        "persona": persona.get("user_persona") if isinstance(persona, Mapping) else None,
        "expected_outcome": None if state is None else {"state": state},
    }
