"""What `dg scaffold defs orchestrator_assets.VoiceEvaluation <name>` writes."""

from __future__ import annotations

import re
from pathlib import Path

import dagster as dg

_DATA_SET_FILE = "records.yaml"
_EVALUATION_FILE = "evaluation.yaml"

_FIELDS = """\
name: {name}  # also the asset group and the run directory
data_set: {data_set}  # relative to this file
agent:
  url: ws://127.0.0.1:8765/media  # your agent's WebSocket, speaking Twilio Media Streams
conversation_time_limit_seconds: 300
max_concurrent_conversations: 4
max_attempts: 3  # per task and run
output_dir: runs  # relative to {output_root}
# dagster:
#   owners: [team:voice]
#   max_partitions_per_run: 100  # split backfills into runs of so many tasks
"""
_RECORDS = """\
- id: opening_hours
  goal: Find out when you are open, and change nothing.
  turns:
    - Hello, when are you open?
    - Thank you. Goodbye.
"""
_COMPONENT = """\
from pathlib import Path

import dagster as dg
from orchestrator_assets import VoiceEvaluation


@dg.component_instance
def load(context: dg.ComponentLoadContext) -> VoiceEvaluation:
    return VoiceEvaluation.from_file(Path(__file__).with_name("{file}"))
"""


class EvaluationScaffolder(dg.Scaffolder):
    """Writes an evaluation and a data set of one record, to be loaded as they are."""

    def scaffold(self, request: dg.ScaffoldRequest) -> None:
        """Write `defs.yaml`, or for Python a `component.py` and an evaluation file."""
        folder = request.target_path.parent if request.append else request.target_path
        name = _evaluation_name(folder.name)
        if request.append:
            data_set = _free_name(folder)
            fields = _fields(f"{name}_{data_set.stem.removeprefix('records_')}", data_set.name)
            with request.target_path.open("a", encoding="utf-8") as file:
                file.write("---\n" + _defs(request.type_name, fields))
        else:
            data_set = folder / _DATA_SET_FILE
            self._write(request, folder, name)
        data_set.write_text(_RECORDS, encoding="utf-8")

    def _write(self, request: dg.ScaffoldRequest, folder: Path, name: str) -> None:
        if request.scaffold_format == "python":
            code = _COMPONENT.format(file=_EVALUATION_FILE)
            fields = _fields(name, _DATA_SET_FILE, output_root="the working directory")
            (folder / "component.py").write_text(code, encoding="utf-8")
            (folder / _EVALUATION_FILE).write_text(fields, encoding="utf-8")
            return
        text = _defs(request.type_name, _fields(name, _DATA_SET_FILE))
        (folder / "defs.yaml").write_text(text, encoding="utf-8")


def _fields(name: str, data_set: str, output_root: str = "the project's root") -> str:
    return _FIELDS.format(name=name, data_set=data_set, output_root=output_root)


def _defs(type_name: str, fields: str) -> str:
    indented = "".join(f"  {line}\n" for line in fields.splitlines())
    return f"type: {type_name}\nattributes:\n{indented}"


def _evaluation_name(folder_name: str) -> str:
    name = re.sub(r"\W", "_", folder_name, flags=re.ASCII)
    return (name if re.match(r"[A-Za-z]", name) else f"evaluation_{name}")[:64]


def _free_name(folder: Path) -> Path:
    number = 2
    while (path := folder / f"records_{number}.yaml").exists():
        number += 1
    return path
