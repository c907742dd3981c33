"""The adoption itself: read EVA's run, make a run directory of links, write the evaluation."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator_assets.adoption.data_set import (
    check_all_known,
    find_data_set,
    records_by_id,
    write_data_set,
)
from orchestrator_assets.adoption.eva_config import EvaConfig, read_eva_config
from orchestrator_assets.adoption.eva_run import EvaRun, find_conversations
from orchestrator_assets.adoption.evaluation_file import (
    make_evaluation,
    write_evaluation_file,
)
from orchestrator_assets.adoption.life_stories import LifeStory, tell_run
from orchestrator_assets.adoption.linking import link_conversation
from orchestrator_assets.adoption.tasks import AdoptedAttempt, AdoptedTask, read_adopted_tasks
from orchestrator_assets.adoption.verdicts import eva_verdict
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.records import Record, load_records
from orchestrator_assets.store.atomic import make_directory, sync_directory, write_json
from orchestrator_assets.store.run_directory import RunDirectory

DEFAULT_EVALUATIONS = Path("evaluations")
DEFAULT_OUTPUT = Path("runs")
ADOPTION_FILE = "adoption.json"
EVA_LINK = "eva"
"""In our run directory; leads to EVA's own, and to all that needs no place in ours."""

_NAME_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Adoption:
    """What came of adopting a run: the evaluation, and what was found to judge."""

    evaluation_file: Path
    evaluation: Evaluation
    source: Path
    tasks: tuple[AdoptedTask, ...]
    left_out: tuple[Path, ...]
    data_set_made: bool
    """Whether the run's data set was not found, so that nothing is known of records but the id."""

    @property
    def current(self) -> list[AdoptedAttempt]:
        """The conversations that lie in their task's directory, to be judged."""
        return [task.current for task in self.tasks if task.current is not None]

    @property
    def num_archives(self) -> int:
        """How many failed attempts EVA had archived."""
        return sum(len(task.archived) for task in self.tasks)


def adopt(
    directory: Path,
    *,
    name: str | None = None,
    data_set: Path | None = None,
    evaluations: Path = DEFAULT_EVALUATIONS,
    output_dir: Path = DEFAULT_OUTPUT,
    agent_url: str | None = None,
) -> Adoption:
    """Make an evaluation of a run directory of EVA's, which itself is only read.

    `name` is the evaluation's, by default made of the directory's; its file comes to lie in
    `evaluations`, its run directory in `output_dir`. `data_set` is the run's own, by default the
    one it names. Without an `agent_url` the evaluation judges and scores, but calls nobody.

    Raises ConfigurationError, listing all faults, for what is no run of EVA's, for a damaged file
    in it, for a data set that does not go with it, and where the evaluation or its run directory is
    there already. Raises OSError if something can't be written; no run directory is left then.
    """
    source = directory.absolute()
    config = read_eva_config(source)
    name = name or _name_from(source)
    evaluation_file = evaluations.absolute() / f"{name}.yaml"
    found_data_set = find_data_set(source, config, data_set)
    data_set_made = found_data_set is None
    data_set_path = found_data_set or evaluations.absolute() / f"{name}_records.json"
    run, records = _find_records(source, config, found_data_set)
    evaluation = make_evaluation(
        evaluation_file,
        name=name,
        config=config,
        run=run,
        data_set=data_set_path,
        output_dir=output_dir.absolute(),
        agent_url=agent_url,
        records=records,
    )
    places = [evaluation_file, evaluation.run_directory, *([data_set_path] * data_set_made)]
    _refuse_what_is_there(places)
    tasks = read_adopted_tasks(run, records, evaluation.num_trials)
    if data_set_made:
        write_data_set(data_set_path, records)
    _make_run_directory(evaluation, run, tasks, config)
    write_evaluation_file(evaluation_file, evaluation, source, records=records)
    return Adoption(
        evaluation_file=evaluation_file,
        evaluation=load_evaluation(evaluation_file),
        source=source,
        tasks=tuple(tasks),
        left_out=run.left_out,
        data_set_made=data_set_made,
    )


def _find_records(
    source: Path, config: EvaConfig, data_set: Path | None
) -> tuple[EvaRun, list[Record]]:
    """Return what lies in the run, and the records of its data set; without one, those called."""
    asked_for = config.record_ids or ()
    if data_set is None:
        run = find_conversations(source, set(asked_for))
        return run, records_by_id(list(dict.fromkeys([*asked_for, *run.record_ids])))
    records = load_records(data_set)
    run = find_conversations(source, {record.id for record in records} | set(asked_for))
    check_all_known(data_set, records, run.record_ids)
    return run, records


def _name_from(source: Path) -> str:
    readable = re.sub(r"[^A-Za-z0-9]+", "_", source.resolve().name).strip("_")
    return f"eva_{readable}"[:_NAME_LENGTH].rstrip("_")


def _refuse_what_is_there(places: Sequence[Path]) -> None:
    there = [place for place in places if place.exists()]
    if there:
        raise ConfigurationError(
            Fault(place, "", "is there already; take another name, or move it away")
            for place in there
        )


def _make_run_directory(
    evaluation: Evaluation,
    run: EvaRun,
    tasks: Sequence[AdoptedTask],
    config: EvaConfig,
) -> None:
    """Make the run directory under another name and rename it: it is there as a whole, or not."""
    target = evaluation.run_directory
    run_id = config.run_id or run.directory.name
    make_directory(target.parent)
    staging = target.with_name(f".{target.name}.{secrets.token_hex(4)}.adopting")
    run_directory = RunDirectory(staging)
    try:
        make_directory(run_directory.records_path)
        for task in tasks:
            _adopt_task(run_directory, task, config, run_id)
        _tell_run(run_directory, tasks, run_id)
        (staging / EVA_LINK).symlink_to(run.directory)
        write_json(
            staging / ADOPTION_FILE,
            {
                "source": str(run.directory),
                "run_id": run_id,
                "adopted_at": datetime.now(UTC).isoformat(),
                "left_out": [path.relative_to(run.directory).as_posix() for path in run.left_out],
            },
        )
        staging.rename(target)
    except BaseException:
        # It holds links and what was translated, nothing of EVA's.
        shutil.rmtree(staging, ignore_errors=True)
        raise
    sync_directory(target.parent)


def _adopt_task(
    run_directory: RunDirectory, adopted: AdoptedTask, config: EvaConfig, run_id: str
) -> None:
    story = LifeStory(run_directory, adopted.task, run_id)
    for attempt in adopted.archived:
        archive = run_directory.archive_directory(adopted.task, attempt.number)
        link_conversation(attempt.source, archive, attempt.result)
        verdict = eva_verdict(attempt.source, attempt.result, config)
        story.tell_archived(attempt.number, attempt.result, verdict)
    if adopted.current is not None:
        current = adopted.current
        link_conversation(
            current.source, run_directory.task_directory(adopted.task), current.result
        )
        story.tell_call(current.number, current.result)


def _tell_run(run_directory: RunDirectory, tasks: Sequence[AdoptedTask], run_id: str) -> None:
    results = [
        attempt.result for task in tasks for attempt in task.attempts if attempt.result is not None
    ]
    if results:
        tell_run(
            run_directory,
            run_id,
            min(result.started_at for result in results),
            max(result.ended_at for result in results),
            len(tasks),
        )
