"""Where evaluations are found: the demo's, and the files of the working directory.

`ORCHESTRATOR_EVALUATIONS` names files and folders, separated as in `PATH`; without it, it is the
folder `evaluations` of the working directory, if there is one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator_assets import demo
from orchestrator_assets.data_source import YAML_SUFFIXES
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.evaluation import Evaluation, load_evaluation

EVALUATIONS_VARIABLE = "ORCHESTRATOR_EVALUATIONS"
EVALUATIONS_FOLDER = Path("evaluations")


@dataclass(frozen=True, slots=True)
class EvaluationFile:
    """An evaluation and the file it was read from."""

    path: Path
    evaluation: Evaluation


def find_evaluation_files() -> list[Path]:
    """Return the evaluation files there are, the demo's first.

    Raises ConfigurationError for a path in `ORCHESTRATOR_EVALUATIONS` that does not exist.
    """
    return list(dict.fromkeys([demo.EVALUATION_FILE, *_configured_files()]))


def _configured_files() -> Iterator[Path]:
    configured = os.environ.get(EVALUATIONS_VARIABLE, "")
    places = [Path(place).absolute() for place in configured.split(os.pathsep) if place]
    if not places:
        folder = EVALUATIONS_FOLDER.absolute()
        places = [folder] if folder.is_dir() else []
    for place in places:
        if place.is_dir():
            yield from sorted(path for path in place.iterdir() if path.suffix in YAML_SUFFIXES)
        elif place.is_file():
            yield place
        else:
            raise ConfigurationError(
                [Fault(place, "", f"is named in {EVALUATIONS_VARIABLE}, but does not exist")]
            )


def load_evaluations() -> list[EvaluationFile]:
    """Read every evaluation there is.

    A data set of one of them may lie beside them. Raises ConfigurationError, listing the faults of
    all files; that two evaluations have the same name is one of them.
    """
    found: list[EvaluationFile] = []
    unusable: dict[Path, ConfigurationError] = {}
    for path in find_evaluation_files():
        try:
            found.append(EvaluationFile(path, load_evaluation(path)))
        except ConfigurationError as error:
            unusable[path] = error
    data_sets = {Path(file.evaluation.data_set).resolve() for file in found}
    faults = [
        fault
        for path, error in unusable.items()
        if path.resolve() not in data_sets
        for fault in error.faults
    ]
    faults.extend(_repeated_names(found))
    if faults:
        raise ConfigurationError(faults)
    return found


def _repeated_names(found: list[EvaluationFile]) -> Iterator[Fault]:
    by_name: dict[str, Path] = {}
    for file in found:
        first = by_name.setdefault(file.evaluation.name, file.path)
        if first != file.path:
            yield Fault(
                file.path,
                "name",
                f"{file.evaluation.name!r} is the name of the evaluation in {first}; rename one",
            )


def find_evaluation(wanted: str | None) -> EvaluationFile:
    """Return the evaluation a user named by file or by name; the demo's for None.

    Raises ConfigurationError if there is none, or if its file can't be used.
    """
    if wanted is None:
        return EvaluationFile(demo.EVALUATION_FILE, load_evaluation(demo.EVALUATION_FILE))
    path = Path(wanted)
    if path.suffix in YAML_SUFFIXES or path.is_file():
        return EvaluationFile(path.absolute(), load_evaluation(path))
    known = load_evaluations()
    for file in known:
        if file.evaluation.name == wanted:
            return file
    names = ", ".join(file.evaluation.name for file in known)
    raise ConfigurationError(
        [Fault(None, wanted, f"is neither a file nor an evaluation; there are: {names}")]
    )


def make_findable(file: EvaluationFile) -> None:
    """Add the file to `ORCHESTRATOR_EVALUATIONS`, for the code locations this process starts."""
    if file.path.absolute() in find_evaluation_files():
        return
    configured = os.environ.get(EVALUATIONS_VARIABLE) or str(EVALUATIONS_FOLDER.absolute())
    places = [place for place in configured.split(os.pathsep) if Path(place).exists()]
    os.environ[EVALUATIONS_VARIABLE] = os.pathsep.join([*places, str(file.path)])
