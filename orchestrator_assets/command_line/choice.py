"""Which evaluation and which of its tasks a command is about. Knows no Dagster."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from orchestrator_assets import demo
from orchestrator_assets.attempts.protocols import AttemptMode
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.evaluation import Evaluation
from orchestrator_assets.evaluation_files import EvaluationFile, find_evaluation
from orchestrator_assets.evaluation_run import failed_tasks
from orchestrator_assets.plan import Step, plan
from orchestrator_assets.records import Task


@dataclass(frozen=True, slots=True)
class Choice:
    """An evaluation as the command line has it, and the tasks to settle, in data-set order.

    `rerun`: these are failed ones, which is why there may be none. `max_attempts` is there if it is
    not the evaluation file's own.
    """

    file: EvaluationFile
    evaluation: Evaluation
    tasks: list[Task]
    mode: AttemptMode
    rerun: bool
    max_attempts: int | None = None

    def command(self, name: str) -> str:
        """Return the command line of another command on the same evaluation."""
        if self.file.path == demo.EVALUATION_FILE:
            return f"orchestrator-assets {name}"
        return f"orchestrator-assets {name} {self.file.path}"


def choose(
    wanted: str | None,
    *,
    force: bool = False,
    rerun: bool = False,
    record_ids: Collection[str] = (),
    max_attempts: int | None = None,
) -> Choice:
    """Return what was chosen: all tasks, or the failed ones; only of `record_ids` if there are any.

    A record may be given by its id, or a single trial of it as `id/trial_0`. Raises
    ConfigurationError for an evaluation or a record that does not exist.
    """
    file = find_evaluation(wanted)
    evaluation = file.evaluation
    if max_attempts is not None:
        evaluation = evaluation.model_copy(update={"max_attempts": max_attempts})
    known = evaluation.load_tasks()
    names = {name for task in known for name in (task.id, task.record.id)}
    unknown = [record_id for record_id in record_ids if record_id not in names]
    if unknown:
        raise ConfigurationError(
            Fault(evaluation.data_set, f"record {record_id!r}", "does not exist; check its id")
            for record_id in unknown
        )
    tasks = failed_tasks(evaluation) if rerun else known
    if record_ids:
        tasks = [each for each in tasks if {each.id, each.record.id} & set(record_ids)]
    mode = AttemptMode.FORCE if force else AttemptMode.CALL
    return Choice(file, evaluation, tasks, mode, rerun, max_attempts)


def accepted_only(choice: Choice, mode: AttemptMode) -> Choice:
    """Return the choice narrowed to the tasks that have an accepted conversation, for `mode`."""
    standing = plan(choice.evaluation, choice.tasks, AttemptMode.METRICS_ONLY)
    accepted = [each.task for each in standing.tasks if each.step is not Step.NOTHING]
    return replace(choice, tasks=accepted, mode=mode)
