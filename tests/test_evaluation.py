from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator_assets.demo import EVALUATION_FILE
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation import Evaluation, load_evaluation
from orchestrator_assets.records import CallerVoice, Record

MINIMAL: dict[str, Any] = {
    "name": "mine",
    "data_set": "records.json",
    "agent": {"url": "ws://127.0.0.1:9/media"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "records.json").write_text('[{"id": "a"}, {"id": "b"}]', encoding="utf-8")
    return tmp_path


def write(folder: Path, **changes: Any) -> Path:
    path = folder / "evaluation.yaml"
    path.write_text(yaml.safe_dump({**MINIMAL, **changes}), encoding="utf-8")
    return path


def test_a_minimal_evaluation_has_the_documented_defaults(folder: Path) -> None:
    evaluation = load_evaluation(write(folder))
    assert evaluation.max_attempts == 3
    assert evaluation.max_time_limit_attempts == 1
    assert evaluation.num_trials == 1
    assert evaluation.clock == "wall"
    assert evaluation.data_set == folder / "records.json"


def test_the_output_lies_below_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working_directory = folder / "elsewhere"
    working_directory.mkdir()
    monkeypatch.chdir(working_directory)
    assert load_evaluation(write(folder)).run_directory == working_directory / "runs" / "mine"


def test_every_fault_is_listed_with_file_and_field(folder: Path) -> None:
    path = write(
        folder,
        name="not a name",
        data_set="missing.json",
        max_attempts="many",
        agent={"url": "http://x", "comand": ["x"]},
        surprise=1,
    )
    with pytest.raises(ConfigurationError) as caught:
        load_evaluation(path)
    text = str(caught.value)
    assert text.startswith("6 faults")
    for field in ("name", "data_set", "max_attempts", "agent.url", "agent.comand", "surprise"):
        assert f"{path}: {field}: " in text


def test_unknown_metrics_are_listed_with_a_missing_data_set(folder: Path) -> None:
    path = write(folder, metrics=["task_completion", "charm"], data_set="missing.json")
    with pytest.raises(ConfigurationError) as caught:
        load_evaluation(path)
    text = str(caught.value)
    assert "data_set: there is no file" in text
    assert "metrics.1: there is no metric 'charm'; known: " in text


def test_a_port_placeholder_needs_a_command_to_give_the_port_to(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no `command` to give it to"):
        load_evaluation(write(folder, agent={"url": "ws://127.0.0.1:{port}/media"}))


def test_too_few_workers_for_the_calls_are_refused(folder: Path) -> None:
    settings = {"max_concurrent_conversations": 25, "calls_per_worker": 10}
    assert load_evaluation(write(folder, **settings, workers=3)).workers == 3
    with pytest.raises(ConfigurationError, match="`workers` 2 times `calls_per_worker` 10 is less"):
        load_evaluation(write(folder, **settings, workers=2))


@pytest.mark.parametrize("text", ["", "[]", "a: ["])
def test_a_file_that_is_no_evaluation_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "evaluation.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"evaluation\.yaml: "):
        load_evaluation(path)


def test_a_caller_can_not_be_listened_to_by_a_judge_that_is_not_named(folder: Path) -> None:
    validation = {"user_speech_fidelity": {"judged_by": "audio_judge"}}
    with pytest.raises(ConfigurationError) as caught:
        load_evaluation(write(folder, validation=validation))
    (fault,) = caught.value.faults
    assert fault.location == "validation.user_speech_fidelity.judged_by"
    assert "add `audio_judge`" in fault.message
    load_evaluation(write(folder, validation=validation, audio_judge={}))


def test_record_ids_narrow_the_tasks_in_the_order_of_the_data_set(folder: Path) -> None:
    evaluation = load_evaluation(write(folder, record_ids=["b", "a"], num_trials=2))
    assert [task.key for task in evaluation.load_tasks()] == [
        "a:trial_0",
        "a:trial_1",
        "b:trial_0",
        "b:trial_1",
    ]


def test_record_ids_that_the_data_set_lacks_are_named(folder: Path) -> None:
    evaluation = load_evaluation(write(folder, record_ids=["a", "z"]))
    with pytest.raises(ConfigurationError, match="record 'z': is in record_ids, but not here"):
        evaluation.load_tasks()


def test_debug_takes_the_first_of_the_chosen_records(folder: Path) -> None:
    evaluation = load_evaluation(write(folder, record_ids=["b"], debug=True))
    assert [task.id for task in evaluation.load_tasks()] == ["b"]


def test_the_fingerprint_follows_what_shapes_a_call_and_nothing_else(folder: Path) -> None:
    def fingerprint(record: Record | None = None, **changes: Any) -> str:
        evaluation: Evaluation = load_evaluation(write(folder, **changes))
        return evaluation.call_fingerprint(record or Record(id="a"))

    unchanged = fingerprint()
    assert fingerprint(max_attempts=9, metrics=[], max_concurrent_conversations=2) == unchanged
    assert fingerprint(agent={"url": "ws://127.0.0.1:9/media", "start_timeout_seconds": 5}) == (
        unchanged
    )
    changed = {
        fingerprint(Record(id="a", goal="Other.")),
        fingerprint(Record(id="a", caller_voice=CallerVoice(pitch=1.2))),
        fingerprint(agent={"url": "ws://127.0.0.1:10/media"}),
        fingerprint(caller={"reply_delay_seconds": 1}),
        fingerprint(conversation_time_limit_seconds=10),
        fingerprint(clock="media"),
    }
    assert len(changed) == 6
    assert unchanged not in changed


def test_the_demo_has_twelve_records() -> None:
    evaluation = load_evaluation(EVALUATION_FILE)
    ids = [task.id for task in evaluation.load_tasks()]
    assert len(ids) == 12
    assert any(not task_id.isascii() for task_id in ids)
