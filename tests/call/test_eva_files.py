"""A run of ours, read as EVA's tools would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import eva_models
import pytest

from orchestrator_assets.call.agent_process import AgentAddress
from orchestrator_assets.call.call_report import CallReport
from orchestrator_assets.call.conversation import ConversationResult
from orchestrator_assets.call.eva_files import write_eva_files
from orchestrator_assets.call.placing import CallPlacer
from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech
from orchestrator_assets.demo.agent_server import AgentServer
from orchestrator_assets.evaluation import Agent, ClockKind, Evaluation
from orchestrator_assets.evaluation_run import EvaluationRun
from orchestrator_assets.records import Task
from orchestrator_assets.store.atomic import write_json
from orchestrator_assets.validation.validator import Validator

RECORD = {
    "id": "cancel",
    "turns": ["I need to cancel my appointment.", "The booking code is 55329.", "Yes, please."],
    "expected_outcome": {"changes": {"/appointments/55329/status": "cancelled"}},
}


def lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


async def demo_run(
    root: Path, text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> Evaluation:
    """Run one task of the demo's agent, two trials, and a call to where nobody answers."""
    data_set = root / "records.json"
    write_json(data_set, [RECORD])
    evaluation = Evaluation(
        name="for_eva",
        data_set=data_set,
        agent=Agent(url="ws://127.0.0.1:9/media", parameters={"api_key": "s3cret"}),
        clock=ClockKind.MEDIA,
        num_trials=2,
        max_attempts=1,
        metrics=("task_completion", "response_latency"),
        output_dir=root / "runs",
    )
    server = await AgentServer(text_to_speech, speech_to_text).listen("127.0.0.1", 0)
    port = next(iter(server.sockets)).getsockname()[1]
    there = AgentAddress(
        f"ws://127.0.0.1:{port}/media", f"http://127.0.0.1:{port}/calls/{{call_sid}}"
    )
    nowhere = AgentAddress("ws://127.0.0.1:9/media", None)

    async def place_call(
        task: Task, attempt: int, directory: Path, slot: AbstractAsyncContextManager[object]
    ) -> ConversationResult:
        address = there if task.trial == 0 else nowhere
        placer = CallPlacer(evaluation, address, text_to_speech, speech_to_text)
        return await placer(task, attempt, directory, slot)

    run = EvaluationRun(
        evaluation,
        evaluation.load_tasks(),
        run_id="r1",
        place_call=place_call,
        validate=Validator(evaluation.validation, speech_to_text).validate,
    )
    async with server:
        outcomes = {outcome.task.id: outcome.accepted async for outcome in run.outcomes()}
    assert outcomes == {"cancel/trial_0": True, "cancel/trial_1": False}
    return evaluation


async def test_evas_models_accept_every_file_of_a_run_of_ours(
    tmp_path: Path, text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> None:
    evaluation = await demo_run(tmp_path, text_to_speech, speech_to_text)
    root = evaluation.run_directory
    _check_run_files(root)
    failed = root / "records" / "cancel" / "trial_1_failed_attempt_1"
    result = eva_models.ConversationResult.model_validate_json(
        (failed / "result.json").read_bytes()
    )
    assert result.error_details is not None
    _check_conversation(root / "records" / "cancel" / "trial_0")


def _check_run_files(root: Path) -> None:
    config = eva_models.RunConfig.model_validate_json((root / "config.json").read_bytes())
    assert config.num_trials == 2
    assert Path(config.dataset_path).is_file()
    assert "s3cret" not in (root / "config.json").read_text(encoding="utf-8")
    summary = eva_models.EvaluationSummary.model_validate_json(
        (root / "evaluation_summary.json").read_bytes()
    )
    assert summary.simulation.failed_record_ids == ["cancel/trial_1"]
    metrics = eva_models.MetricsSummary.model_validate_json(
        (root / "metrics_summary.json").read_bytes()
    )
    assert metrics.per_metric["task_completion"].mean == 1.0


def _check_conversation(directory: Path) -> None:
    result = eva_models.ConversationResult.model_validate_json(
        (directory / "result.json").read_bytes()
    )
    for name, path in result.model_dump().items():
        assert not name.endswith("_path") or (directory / path).is_file(), name
    for name in ("initial_scenario_db.json", "final_scenario_db.json"):
        assert isinstance(json.loads((directory / name).read_bytes()), dict)
    rows = [
        eva_models.TranscriptRow.model_validate(row)
        for row in lines(directory / "transcript.jsonl")
    ]
    log = eva_models.AuditLog.model_validate_json((directory / "audit_log.json").read_bytes())
    said = [entry.value for entry in log.transcript if entry.message_type in ("user", "assistant")]
    assert sorted(map(str, said)) == sorted(row.content for row in rows)
    tools = [entry.value for entry in log.transcript if entry.message_type == "tool_call"]
    assert {"tool": "cancel_appointment", "parameters": {"code": "55329"}} in tools
    events = [
        eva_models.FrameworkEvent.model_validate(event)
        for event in lines(directory / "framework_logs.jsonl")
    ]
    spoken = [event.data.frame for event in events if event.type == "llm_response"]
    assert spoken == [row.content for row in rows if row.role == "assistant"]
    *_, last = lines(directory / "user_simulator_events.jsonl")
    assert eva_models.LastEvent.model_validate(last).data.details.reason == "goodbye"
    metrics = eva_models.RecordMetrics.model_validate_json(
        (directory / "metrics.json").read_bytes()
    )
    assert metrics.record_id == "cancel/trial_0"
    assert "conversation_valid_end" in metrics.metrics


TRANSCRIPT = [
    ("assistant", "Hello?", 1.0, 2.0),
    ("user", "Bye.", 3.0, 3.5),
    ("assistant", "Goodbye.", 4.0, 5.0),
]
START_MS = 1_772_403_720_000


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    rows = [
        {
            "timestamp": (START_MS + start * 1000) / 1000,
            "role": role,
            "content": content,
            "start_seconds": start,
            "end_seconds": end,
        }
        for role, content, start, end in TRANSCRIPT
    ]
    (tmp_path / "transcript.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_the_agent_hears_a_turn_at_its_end_and_says_its_own_at_its_start(
    conversation: Path,
) -> None:
    write_eva_files(conversation, None)
    log = json.loads((conversation / "audit_log.json").read_bytes())
    times = [(entry["value"], int(entry["timestamp"]) - START_MS) for entry in log["transcript"]]
    assert times == [("Hello?", 1000), ("Bye.", 3500), ("Goodbye.", 4000)]


def test_tool_calls_stand_where_the_agent_says_else_at_the_end(conversation: Path) -> None:
    report = CallReport.model_validate(
        {
            "tool_calls": [
                {"name": "late", "arguments": {"a": 1}},
                {"name": "timed", "timestamp": START_MS + 3_700, "result": {"status": "ok"}},
            ]
        }
    )
    write_eva_files(conversation, report)
    log = json.loads((conversation / "audit_log.json").read_bytes())
    assert [entry["value"] for entry in log["transcript"]] == [
        "Hello?",
        "Bye.",
        {"tool": "timed", "parameters": {}},
        {"tool": "timed", "response": {"status": "ok"}},
        "Goodbye.",
        {"tool": "late", "parameters": {"a": 1}},
    ]


def test_turns_of_the_agent_are_kept_apart(conversation: Path) -> None:
    write_eva_files(conversation, None)
    kinds = [event["type"] for event in lines(conversation / "framework_logs.jsonl")]
    assert kinds == ["turn_start", "llm_response", "turn_end"] * 2


def test_without_a_transcript_there_is_nothing_to_tell(tmp_path: Path) -> None:
    write_eva_files(tmp_path, None)
    assert not any(tmp_path.iterdir())
