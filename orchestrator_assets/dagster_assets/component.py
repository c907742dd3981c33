"""The Dagster component that makes assets, jobs and a sensor of an evaluation.

In any Dagster project, a `defs.yaml` of this type holds what an evaluation file holds:

    type: orchestrator_assets.VoiceEvaluation
    attributes:
      name: booking
      data_set: records.yaml
      agent: {url: "wss://agent.example.com/media"}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import dagster as dg
from dagster import ComponentLoadContext
from dagster.components import ComponentTypeSpec, ResolutionContext
from pydantic import BaseModel, RootModel

from orchestrator_assets.dagster_assets.component_scaffolder import EvaluationScaffolder
from orchestrator_assets.dagster_assets.evaluation_definitions import build_evaluation_definitions
from orchestrator_assets.dagster_assets.settling import CreateRun
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.evaluation import Evaluation, evaluation_from, load_evaluation
from orchestrator_assets.evaluation_run import EvaluationRun

_DEFAULT_OUTPUT_DIR = "runs"
_NO_NUMBER = "~"
"""Ends a text that must not be taken for a number."""


class EvaluationAttributes(RootModel[dict[str, Any]]):
    """The attributes of a `defs.yaml`, as written. Their schema is the evaluation's.

    They are checked when they are loaded, after templates have been filled in, so that faults are
    reported as those of an evaluation file are: all at once, by file and field.
    """

    @classmethod
    def model_json_schema(cls, *_args: Any, **_kwargs: Any) -> dict[str, Any]:
        """Return the schema of an evaluation in which every value may be a template."""
        return _with_templates(Evaluation.model_json_schema())


@dg.scaffold_with(EvaluationScaffolder)
class VoiceEvaluation(dg.Component):
    """An evaluation of a voice agent: simulated calls, validated, retried, scored.

    Its attributes are the fields of an evaluation. `data_set` is relative to the file they stand
    in, `output_dir` to the project's root.
    """

    def __init__(self, evaluation: Evaluation, *, create_run: CreateRun = EvaluationRun) -> None:
        """`create_run` makes the run that settles tasks: see `build_evaluation_definitions`."""
        self.evaluation = evaluation
        self._create_run = create_run

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Return the component of an evaluation file.

        Raises ConfigurationError, listing every fault of the file.
        """
        return cls(load_evaluation(path))

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        """Return what attributes are read as; Dagster asks for it."""
        return EvaluationAttributes

    @classmethod
    def get_spec(cls) -> ComponentTypeSpec:
        """Return how the component is listed; Dagster asks for it."""
        return ComponentTypeSpec(
            description=cls.__doc__,
            tags=["voice", "evaluation"],
            produces=["asset", "job", "sensor"],
        )

    @classmethod
    def load(cls, attributes: BaseModel | None, context: ComponentLoadContext) -> Self:
        """Return the component of a `defs.yaml`.

        Raises ConfigurationError, listing every fault of its attributes by file and field.
        """
        path = _yaml_path(context)
        written = attributes.root if isinstance(attributes, EvaluationAttributes) else {}
        if not written:
            raise ConfigurationError(
                [Fault(path, "attributes", "are missing: write the fields of an evaluation")]
            )
        values = _filled_in(written, context.resolution_context.at_path("attributes"))
        output_dir = values.get("output_dir", _DEFAULT_OUTPUT_DIR)
        if isinstance(output_dir, str):
            # Not beside the file: Dagster walks through everything that lies there.
            values["output_dir"] = str(context.project_root / output_dir)
        return cls(evaluation_from(values, path))

    def build_defs(self, context: ComponentLoadContext) -> dg.Definitions:
        """Return the definitions for a project; runs of the assets take the project's executor."""
        del context
        return self.definitions(executor=None)

    def definitions(
        self, *, executor: dg.ExecutorDefinition | None = dg.in_process_executor
    ) -> dg.Definitions:
        """Return the definitions: see `build_evaluation_definitions`."""
        return build_evaluation_definitions(
            self.evaluation, create_run=self._create_run, executor=executor
        )


def _yaml_path(context: ComponentLoadContext) -> Path:
    positions = context.resolution_context.source_position_tree
    if positions is not None:
        return Path(positions.position.filename)
    path = context.path
    return path / "defs.yaml" if path.is_dir() else path


def _filled_in(value: Any, context: ResolutionContext) -> Any:
    """Return the value with the templates in it filled in, and all else as it is.

    Dagster makes a number of any text that looks like one; here a text stays the text it is, for
    the evaluation to make of it what the field wants.
    """
    if isinstance(value, dict):
        return {name: _filled_in(each, context.at_path(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled_in(each, context.at_path(index)) for index, each in enumerate(value)]
    if not isinstance(value, str) or not ("{{" in value or "{%" in value):
        return value
    filled = context.resolve_value(value)
    if isinstance(filled, int | float):
        return str(context.resolve_value(value + _NO_NUMBER)).removesuffix(_NO_NUMBER)
    return filled


def _with_templates(schema: dict[str, Any]) -> dict[str, Any]:
    template = {"type": "string", "pattern": r"\{\{.*\}\}"}

    def allowing(value: Any) -> Any:
        if isinstance(value, list):
            return [allowing(each) for each in value]
        if not isinstance(value, dict):
            return value
        changed = {name: allowing(each) for name, each in value.items()}
        fields = changed.get("properties")
        if isinstance(fields, dict):
            changed["properties"] = {
                name: {"anyOf": [field, template], "description": field.get("description", "")}
                for name, field in fields.items()
            }
        return changed

    allowed: dict[str, Any] = allowing(schema)
    return allowed
