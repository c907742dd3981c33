"""Where everything of a run directory lies. The names are EVA's (DESIGN part 3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orchestrator_assets.call.conversation import RESULT_FILE
from orchestrator_assets.errors import ConfigurationError, Fault
from orchestrator_assets.records import Task
from orchestrator_assets.store.archive import archive_path
from orchestrator_assets.store.atomic import write_json
from orchestrator_assets.store.journal import Journal

_TRIAL_DIRECTORY = re.compile(r"trial_\d+")


class RunDirectory:
    """The paths of one run directory. Making one touches no file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Asked for once a task and more; joining paths takes longer than opening the file.
        self._records = str(root / "records")

    @property
    def config_path(self) -> Path:
        """The resolved evaluation, without secrets, and its provenance."""
        return self.root / "config.json"

    @property
    def evaluation_summary_path(self) -> Path:
        """The counts, outcomes and attempts of all tasks."""
        return self.root / "evaluation_summary.json"

    @property
    def metrics_summary_path(self) -> Path:
        """The metrics over all accepted conversations."""
        return self.root / "metrics_summary.json"

    @property
    def results_path(self) -> Path:
        """One row a task, as CSV."""
        return self.root / "results.csv"

    @property
    def records_path(self) -> Path:
        """The directories of all tasks, and the archives of their failed attempts."""
        return self.root / "records"

    @property
    def locks_path(self) -> Path:
        """The locks of the tasks that are being worked on."""
        return self.root / "locks"

    @property
    def runs(self) -> Journal:
        """The journal of invocations."""
        return Journal(self.root / "runs.jsonl")

    def journal(self, task: Task) -> Journal:
        """Return the journal of the task's attempts."""
        return Journal(self.journal_path(f"{task.key}.jsonl"))

    def journal_path(self, name: str) -> Path:
        """Return where the journal of that file name lies."""
        return self.root / "journal" / name

    def journal_names(self) -> set[str]:
        """Return the file names of all journals there are."""
        try:
            return {path.name for path in (self.root / "journal").iterdir()}
        except (FileNotFoundError, NotADirectoryError):
            return set()

    def task_directory(self, task: Task) -> Path:
        """Return where the task's current attempt lies."""
        return Path(self._records, task.path)

    def archive_directory(self, task: Task, attempt: int) -> Path:
        """Return where the files of a failed attempt lie."""
        return archive_path(self.task_directory(task), attempt)

    def write_config(self, configuration: Mapping[str, Any]) -> None:
        """Write `config.json`. The caller has taken the secrets out."""
        write_json(self.config_path, dict(configuration))

    def check_layout(self, tasks: Iterable[Task]) -> None:
        """Refuse tasks whose directories would hold, or lie in, those of another trial count.

        Raises ConfigurationError that names each record concerned.
        """
        faults = []
        for record_key, task in {task.record.key: task for task in tasks}.items():
            record_directory = self.records_path / record_key
            if not record_directory.is_dir():
                continue
            if task.trial is None:
                mixed = any(
                    _TRIAL_DIRECTORY.match(entry.name) for entry in record_directory.iterdir()
                )
                there = "several trials"
            else:
                mixed = (record_directory / RESULT_FILE).exists()
                there = "a single trial"
            if mixed:
                faults.append(
                    Fault(
                        record_directory,
                        f"record {task.record.id!r}",
                        f"was run with {there} before; go back to that num_trials, "
                        "or take another name or output_dir",
                    )
                )
        if faults:
            raise ConfigurationError(faults)
