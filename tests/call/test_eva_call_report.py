from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator_assets.call.call_report import CallReport, write_call_report
from orchestrator_assets.call.eva_call_report import is_evas, read_eva_call_report
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.metrics.base import Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.records import Record, Task
from orchestrator_assets.store.atomic import write_json, write_text

EVA_RESULT = {
    "record_id": "1",
    "completed": True,
    "started_at": "2026-03-01T17:22:03",
    "ended_at": "2026-03-01T17:23:03",
    "duration_seconds": 60.0,
    "conversation_ended_reason": "goodbye",
}
OUR_RESULT = {**EVA_RESULT, "task_id": "1", "attempt": 1, "fingerprint": "f", "clock": "wall"}


def entry(kind: str, **value: Any) -> dict[str, Any]:
    return {"message_type": kind, "timestamp": "1772403773648", "value": value}


CALLS = [
    entry("tool_call", tool="find", parameters={"code": "A"}),
    entry("tool_call", tool="find", parameters={"code": "B"}),
    entry("tool_call", tool="book", parameters={}),
    entry("tool_response", tool="find", response={"status": "success", "of": "A"}),
    entry("tool_response", tool="find", response={"status": "error", "of": "B"}),
]


def eva_directory(directory: Path, entries: Any = CALLS, result: Any = EVA_RESULT) -> Path:
    write_json(directory / "result.json", result)
    write_json(
        directory / "audit_log.json",
        {
            "transcript": entries,
            "llm_prompts": [
                {"prompt": [{"role": "user", "content": "Hi"}]},
                {"prompt": [{"role": "system", "content": "Be brief."}]},
            ],
        },
    )
    write_text(
        directory / "transcript.jsonl",
        '{"timestamp": "2026-03-01T17:22:05+00:00", "role": "assistant", "content": "Hello."}\n'
        '{"timestamp": "2026-03-01T17:22:08+00:00", "role": "user", "content": "Hi."}\n',
    )
    return directory


def test_each_tool_call_has_the_first_answer_of_its_tool_that_follows_it(tmp_path: Path) -> None:
    report = read_eva_call_report(eva_directory(tmp_path))
    assert report is not None
    assert report.tool_calls is not None
    assert [(call.name, call.arguments(), call.result()) for call in report.tool_calls] == [
        ("find", {"code": "A"}, {"status": "success", "of": "A"}),
        ("find", {"code": "B"}, {"status": "error", "of": "B"}),
        ("book", {}, None),
    ]
    assert [call.error() is None for call in report.tool_calls] == [True, False, True]


def test_the_agents_words_and_instructions_are_read(tmp_path: Path) -> None:
    report = read_eva_call_report(eva_directory(tmp_path))
    assert report is not None
    assert report.agent_texts == ["Hello."]
    assert report.instructions == "Be brief."
    assert report.tools is None


def test_our_own_files_of_the_same_names_are_no_report_of_the_agents(tmp_path: Path) -> None:
    directory = eva_directory(tmp_path, result=OUR_RESULT)
    assert not is_evas(directory)
    assert read_eva_call_report(directory) is None
    conversation = Conversation(Task(Record(id="1")), directory)
    assert conversation.call_report is None
    assert conversation.lacks(Need.AGENT_TEXT) is not None


def test_a_report_of_the_agents_own_is_preferred(tmp_path: Path) -> None:
    directory = eva_directory(tmp_path)
    conversation = Conversation(Task(Record(id="1")), directory)
    assert conversation.lacks(Need.TOOL_CALLS) is conversation.lacks(Need.AGENT_TEXT) is None
    write_call_report(directory, CallReport(agent_texts=["Mine."]))
    report = Conversation(Task(Record(id="1")), directory).call_report
    assert report is not None
    assert (report.agent_texts, report.tool_calls) == (["Mine."], None)


def test_without_an_audit_log_the_tool_calls_are_not_known(tmp_path: Path) -> None:
    directory = eva_directory(tmp_path)
    (directory / "audit_log.json").unlink()
    report = read_eva_call_report(directory)
    assert report is not None
    assert report.tool_calls is None
    assert Conversation(Task(Record(id="1")), directory).lacks(Need.TOOL_CALLS) is not None


def test_a_log_without_tool_calls_is_an_empty_one(tmp_path: Path) -> None:
    report = read_eva_call_report(eva_directory(tmp_path, entries=[]))
    assert report is not None
    assert report.tool_calls == []


def test_a_call_without_a_result_is_nobodys(tmp_path: Path) -> None:
    assert read_eva_call_report(tmp_path) is None


def test_a_damaged_audit_log_is_named(tmp_path: Path) -> None:
    directory = eva_directory(tmp_path, entries=[entry("tool_call", parameters={})])
    with pytest.raises(ConversationFileError, match=r"audit_log\.json: transcript\.0\.value"):
        read_eva_call_report(directory)
    (directory / "audit_log.json").write_text("[1", encoding="utf-8")
    with pytest.raises(ConversationFileError, match=r"audit_log\.json: is not JSON"):
        read_eva_call_report(directory)


def test_a_real_run_tells_its_agents_calls_words_and_instructions(eva_data: Path) -> None:
    report = read_eva_call_report(eva_data / "run" / "records" / "1.1.2")
    assert report is not None
    assert report.tool_calls is not None
    assert len(report.tool_calls) == 5
    assert all(call.result()["status"] == "success" for call in report.tool_calls)
    assert report.agent_texts is not None
    assert report.agent_texts[0] == "Hello! How can I help you today?"
    assert report.instructions is not None
    assert report.instructions.startswith("You are an AI voice assistant")
