"""`orchestrator-assets adopt`: makes an evaluation of a run directory of EVA's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from orchestrator_assets.adoption import Adoption, adopt
from orchestrator_assets.adoption.adopting import DEFAULT_EVALUATIONS, DEFAULT_OUTPUT
from orchestrator_assets.call.conversation import CLEAN_CALLER_AUDIO_FILE, EndReason
from orchestrator_assets.command_line.report import counted

_PLAIN_WIDTH = 120


def adopt_run(
    directory: Path,
    *,
    name: str | None = None,
    data_set: Path | None = None,
    evaluations: Path = DEFAULT_EVALUATIONS,
    output_dir: Path = DEFAULT_OUTPUT,
    agent_url: str | None = None,
    console: Console | None = None,
) -> int:
    """Adopt EVA's run in `directory`, say what was found and what to do next; return 0.

    Parameters and errors are those of `adopt`.
    """
    adoption = adopt(
        directory,
        name=name,
        data_set=data_set,
        evaluations=evaluations,
        output_dir=output_dir,
        agent_url=agent_url,
    )
    console = console or Console()
    for line in adoption_report(adoption):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def adoption_report(adoption: Adoption) -> Iterator[str]:
    """Yield what was found in the run, what can be judged of it, and the next command."""
    records = {task.task.record.id for task in adoption.tasks}
    yield (
        f"{adoption.source}: {counted(len(records), 'record')}, "
        f"{counted(len(adoption.current), 'conversation')}, "
        f"{counted(adoption.num_archives, 'archived attempt')}."
    )
    yield from _gaps(adoption)
    for path in adoption.left_out:
        yield f"Left out, since it is no conversation: {path}"
    if adoption.data_set_made:
        yield (
            f"The run's data set was not found, so {adoption.evaluation.data_set} only has the "
            "ids of its records and task_completion will be skipped; give it with --data-set."
        )
    evaluation = adoption.evaluation
    yield f"Adopted as {evaluation.name}; its run directory links to EVA's files:"
    yield f"  {evaluation.run_directory}"
    yield f"Judge and score what is there with:  orchestrator-assets run {_shown(adoption)}"
    if evaluation.agent.is_placeholder:
        yield "Nobody is called until that file has the agent's address and a max_attempts above 0."


def _gaps(adoption: Adoption) -> Iterator[str]:
    """Yield what of the conversations can be judged, and what can't."""
    current = adoption.current
    ended = [
        attempt
        for attempt in current
        if attempt.result is not None
        and attempt.result.conversation_ended_reason is not EndReason.CANCELLED
    ]
    yield f"The gate can judge {len(ended)} of {len(current)}."
    if len(ended) < len(current):
        yield f"{len(current) - len(ended)} never came to an end and would have to be called again."
    unheard = sum(not (found.source / CLEAN_CALLER_AUDIO_FILE).is_file() for found in current)
    yield (
        "user_behavioral_fidelity and user_speech_fidelity will be skipped: EVA's caller followed "
        f"no script; its clean audio is there in {len(current) - unheard} of {len(current)}. "
        "To have them judged, name a `judge` in the evaluation, and an `audio_judge` with "
        "validation.user_speech_fidelity.judged_by: audio_judge."
    )
    yield f"Metrics: {', '.join(adoption.evaluation.metrics)}."


def _shown(adoption: Adoption) -> str:
    path = adoption.evaluation_file
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
