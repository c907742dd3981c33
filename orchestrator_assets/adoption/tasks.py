"""What EVA left of each task: its archived attempts, in order, and its current one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator_assets.adoption.eva_run import EvaConversation, EvaRun
from orchestrator_assets.adoption.linking import read_eva_result
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.errors import ConfigurationError, ConversationFileError, Fault
from orchestrator_assets.records import Record, Task, tasks_of


@dataclass(frozen=True, slots=True)
class AdoptedAttempt:
    """One call of EVA's, and the number it gets in the task's life. `source` is EVA's directory."""

    number: int
    source: Path
    result: ConversationResult | None


@dataclass(frozen=True, slots=True)
class AdoptedTask:
    """A task that EVA called at least once."""

    task: Task
    archived: tuple[AdoptedAttempt, ...]
    current: AdoptedAttempt | None

    @property
    def attempts(self) -> list[AdoptedAttempt]:
        """All attempts, in order."""
        return [*self.archived, *([] if self.current is None else [self.current])]


def read_adopted_tasks(
    run: EvaRun, records: Sequence[Record], num_trials: int
) -> list[AdoptedTask]:
    """Return what lies in the run of each task, in data-set order.

    Archives keep their numbers; one that is archived as number 0, as EVA does, becomes number 1 and
    moves those after it where it must. The current attempt comes after the last archive.

    Raises ConfigurationError that lists every damaged result, and tasks with two current attempts.
    """
    by_task: dict[str, list[EvaConversation]] = {}
    tasks = {(task.record.id, task.trial): task for task in tasks_of(records, num_trials)}
    for conversation in run.conversations:
        trial = None if num_trials == 1 else conversation.trial or 0
        by_task.setdefault(tasks[conversation.record_id, trial].id, []).append(conversation)
    faults: list[Fault] = []
    adopted = [
        _read_task(task, by_task[task.id], faults) for task in tasks.values() if task.id in by_task
    ]
    if faults:
        raise ConfigurationError(faults)
    return adopted


def _read_task(
    task: Task, conversations: Sequence[EvaConversation], faults: list[Fault]
) -> AdoptedTask:
    archives = [found for found in conversations if found.archive is not None]
    archives.sort(key=lambda found: (found.archive or 0, found.directory))
    current = [found for found in conversations if found.archive is None]
    for other in current[1:]:
        message = f"is a second conversation of {task.id}, beside {current[0].directory}"
        faults.append(Fault(other.directory, "", f"{message}; move one of them away"))
    number = 0
    archived = []
    for found in archives:
        number = max(found.archive or 0, number + 1)
        archived.append(_read_attempt(task, number, found, faults))
    return AdoptedTask(
        task,
        tuple(archived),
        _read_attempt(task, number + 1, current[0], faults) if current else None,
    )


def _read_attempt(
    task: Task, number: int, found: EvaConversation, faults: list[Fault]
) -> AdoptedAttempt:
    result = None
    try:
        result = read_eva_result(found, task_id=task.id, attempt=number)
    except ConversationFileError as error:
        message = str(error).removeprefix(f"{error.path}: ")
        faults.append(
            Fault(
                error.path,
                "",
                f"is damaged or was cut off; restore it, or delete it to have the call count as "
                f"interrupted: {message}",
            )
        )
    return AdoptedAttempt(number, found.directory, result)
