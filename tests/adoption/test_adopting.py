"""Adopting synthetic runs of EVA's: what is found, how it is numbered, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from eva_directories import (
    CONFIG,
    content_of,
    write_conversation,
    write_data_set,
    write_json,
    write_run,
)

from orchestrator_assets.adoption import adopt
from orchestrator_assets.adoption.adopting import Adoption
from orchestrator_assets.attempts.events import AttemptEventKind, read_events
from orchestrator_assets.attempts.history import history_of
from orchestrator_assets.attempts.outcomes import Outcome
from orchestrator_assets.call.conversation import ADOPTED_FINGERPRINT, ConversationResult
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.partition_keys import encode_record_id
from orchestrator_assets.store.run_directory import RunDirectory

PASSED = {"score": 1.0, "normalized_score": 1.0}
FAILED = {"score": 0.0, "normalized_score": 0.0, "details": {}}


@pytest.fixture
def eva_run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "2026-03-01_22-22-03.547446_airline_en_gpt")


def journal(adoption: Adoption, key: str) -> list[tuple[str, int]]:
    path = adoption.evaluation.run_directory / "journal" / f"{key}.jsonl"
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(entry["event"], entry["attempt"]) for entry in entries]


def test_nothing_of_evas_is_copied_changed_or_moved(eva_run: Path, tmp_path: Path) -> None:
    write_conversation(eva_run / "records" / "1.1", files=["audio_user.wav"])
    before = content_of(eva_run)
    adoption = adopt(eva_run)

    assert content_of(eva_run) == before
    directory = adoption.evaluation.run_directory / "records" / "1.1"
    assert (directory / "audio_user.wav").is_symlink()
    own = {path.name for path in directory.iterdir() if not path.is_symlink()}
    assert own == {"result.json", "transcript.jsonl"}
    assert (adoption.evaluation.run_directory / "eva" / "config.json").is_file()


def test_a_read_only_run_is_adopted(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    directories = [eva_run / "records" / "1.1", eva_run / "records", eva_run]
    for directory in directories:
        directory.chmod(0o555)
    try:
        assert len(adopt(eva_run).current) == 1
    finally:
        for directory in directories:
            directory.chmod(0o755)


def test_the_evaluation_goes_on_where_eva_stopped_but_calls_nobody(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    evaluation = adopt(eva_run).evaluation

    assert evaluation.name == "eva_2026_03_01_22_22_03_547446_airline_en_gpt"
    assert evaluation.max_attempts == 0
    assert evaluation.agent.is_placeholder
    assert evaluation.max_concurrent_conversations == 2
    assert evaluation.conversation_time_limit_seconds == 360
    assert "task_completion" in evaluation.metrics
    assert "response_latency" not in evaluation.metrics


def test_with_an_agent_and_a_script_it_may_call(eva_run: Path, tmp_path: Path) -> None:
    write_conversation(eva_run / "records" / "1.1", files=["audio_user.wav", "audio_assistant.wav"])
    data_set = write_data_set(tmp_path / "set.json", {"id": "1.1", "turns": ["Bye."]})
    evaluation = adopt(eva_run, data_set=data_set, agent_url="wss://agent.example/media").evaluation

    assert evaluation.max_attempts == 3
    assert not evaluation.agent.is_placeholder
    assert {"task_completion", "response_latency"} <= set(evaluation.metrics)


def test_a_data_set_above_the_run_is_found_by_the_name_in_its_configuration(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "eva" / "output" / "run")
    write_conversation(run / "records" / "1.1")
    (tmp_path / "eva" / "data").mkdir()
    write_data_set(tmp_path / "eva" / "data" / "airline_dataset.json", "1.0", "1.1")
    adoption = adopt(run)

    assert not adoption.data_set_made
    assert [task.id for task in adoption.evaluation.load_tasks()] == ["1.0", "1.1"]


def test_of_a_data_set_only_what_eva_was_told_to_call_is_taken(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", record_ids=["1.2"])
    write_conversation(run / "records" / "1.1")
    data_set = write_data_set(tmp_path / "set.json", "1.0", "1.1", "1.2")

    evaluation = adopt(run, data_set=data_set).evaluation

    assert evaluation.record_ids == ("1.1", "1.2")


def test_without_a_data_set_one_is_made_of_the_ids(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    write_conversation(eva_run / "records" / "ä b", "ä b")
    adoption = adopt(eva_run, name="mine")

    assert adoption.data_set_made
    assert adoption.evaluation.data_set.name == "mine_records.json"
    assert [task.id for task in adoption.evaluation.load_tasks()] == ["1.1", "ä b"]
    encoded = encode_record_id("ä b")
    assert (adoption.evaluation.run_directory / "records" / encoded).is_dir()


def test_a_data_set_that_lacks_a_called_record_is_refused(eva_run: Path, tmp_path: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    data_set = write_data_set(tmp_path / "set.json", "2.1")
    with pytest.raises(ConfigurationError, match=r"record '1\.1': was called in the run"):
        adopt(eva_run, data_set=data_set)


def test_paths_times_and_fields_of_a_result_become_ours(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1", files=["audio_user_clean.wav"])
    adoption = adopt(eva_run)
    path = adoption.evaluation.run_directory / "records" / "1.1" / "result.json"
    result = ConversationResult.model_validate_json(path.read_bytes())

    assert result.audio_user_path == "audio_user_clean.wav"
    assert result.audio_mixed_path is None
    assert result.transcript_path == "transcript.jsonl"
    # The clock of EVA's machine was five hours behind; its events count from the epoch.
    assert result.started_at.isoformat() == "2026-03-01T22:22:03.569036+00:00"
    assert (result.task_id, result.attempt, result.fingerprint) == ("1.1", 1, ADOPTED_FINGERPRINT)
    assert result.model_extra is not None
    assert result.model_extra["llm_latency"] == {"mean_ms": 3304.7}


def test_archives_keep_their_numbers_and_the_current_attempt_comes_last(eva_run: Path) -> None:
    records = eva_run / "records"
    gate = {"conversation_valid_end": PASSED}
    write_conversation(records / "1.1_failed_attempt_1", reason="error", last_event_reason=None)
    write_conversation(
        records / "1.1_failed_attempt_3", scores={**gate, "user_behavioral_fidelity": FAILED}
    )
    write_conversation(records / "1.1")
    adoption = adopt(eva_run)

    root = adoption.evaluation.run_directory
    assert sorted(path.name for path in (root / "records").iterdir()) == [
        "1.1",
        "1.1_failed_attempt_1",
        "1.1_failed_attempt_3",
    ]
    assert journal(adoption, "1.1") == [
        *[(kind, 1) for kind in ("started", "ended", "judged", "archived")],
        *[(kind, 3) for kind in ("started", "ended", "judged", "archived")],
        ("started", 4),
        ("ended", 4),
    ]
    task = adoption.tasks[0].task
    history = history_of(read_events(RunDirectory(root).journal(task)))
    assert [history.attempts[number].outcome for number in (1, 3, 4)] == [
        Outcome.NOT_FINISHED,
        Outcome.VALIDATION_FAILED,
        None,
    ]
    validation = history.attempts[3].validation
    assert validation is not None
    assert validation.failed_metrics == ("user_behavioral_fidelity",)


def test_an_archive_of_number_0_gets_a_number_of_ours(eva_run: Path) -> None:
    records = eva_run / "records"
    for number in (0, 1, 4):
        write_conversation(records / f"1.1_failed_attempt_{number}")
    (task,) = adopt(eva_run).tasks

    assert task.current is None
    found = [(attempt.number, attempt.source.name) for attempt in task.archived]
    assert found == [
        (1, "1.1_failed_attempt_0"),
        (2, "1.1_failed_attempt_1"),
        (4, "1.1_failed_attempt_4"),
    ]


def test_trials_and_their_archives_are_found(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", num_trials=3)
    for name in ("trial_0", "trial_1", "trial_1_failed_attempt_1"):
        write_conversation(run / "records" / "1.1" / name)
    adoption = adopt(run)

    assert adoption.evaluation.num_trials == 3
    numbers = {task.task.id: [each.number for each in task.attempts] for task in adoption.tasks}
    assert numbers == {"1.1/trial_0": [1], "1.1/trial_1": [1, 2]}
    root = adoption.evaluation.run_directory / "records" / "1.1"
    assert sorted(path.name for path in root.iterdir()) == [
        "trial_0",
        "trial_1",
        "trial_1_failed_attempt_1",
    ]
    result = json.loads((root / "trial_1" / "result.json").read_text())
    assert (result["task_id"], result["attempt"]) == ("1.1/trial_1", 2)


def test_trials_of_older_runs_lie_side_by_side(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    for name in ("1.1_trial_0", "1.1_trial_1", "1.1_trial_1_failed_attempt_2"):
        write_conversation(run / "records" / name)
    adoption = adopt(run)

    assert adoption.evaluation.num_trials == 2
    numbers = {task.task.id: [each.number for each in task.attempts] for task in adoption.tasks}
    assert numbers == {"1.1/trial_0": [1], "1.1/trial_1": [2, 3]}


def test_an_id_of_the_data_set_wins_over_what_its_name_could_mean(
    eva_run: Path, tmp_path: Path
) -> None:
    write_conversation(eva_run / "records" / "call_trial_2", "call_trial_2")
    write_conversation(eva_run / "records" / "a" / "b", "a/b")
    data_set = write_data_set(tmp_path / "set.json", "call_trial_2", "a/b")
    adoption = adopt(eva_run, data_set=data_set)

    assert [task.task.id for task in adoption.tasks] == ["call_trial_2", "a/b"]
    names = {path.name for path in (adoption.evaluation.run_directory / "records").iterdir()}
    assert names == {"call@5Ftrial_2", "a@2Fb"}


def test_what_is_no_conversation_is_left_out_and_named(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    write_conversation(eva_run / "records" / "1.1_unvalidated_1")
    (eva_run / "records" / "empty").mkdir()
    adoption = adopt(eva_run)

    assert [path.name for path in adoption.left_out] == ["1.1_unvalidated_1", "empty"]
    assert [task.task.id for task in adoption.tasks] == ["1.1"]


def test_a_call_without_a_result_or_a_cancelled_one_was_interrupted(eva_run: Path) -> None:
    lost = write_conversation(eva_run / "records" / "1.1")
    (lost / "result.json").unlink()
    write_conversation(eva_run / "records" / "1.2", "1.2", reason="cancelled")
    adoption = adopt(eva_run)

    assert journal(adoption, "1.1") == [("started", 1)]
    assert journal(adoption, "1.2") == [("started", 1), ("cancelled", 1)]
    root = RunDirectory(adoption.evaluation.run_directory)
    for task in adoption.tasks:
        assert history_of(read_events(root.journal(task.task))).attempts[1].interrupted


def test_all_damaged_results_are_named_and_nothing_is_left_behind(eva_run: Path) -> None:
    for name in ("1.1", "1.2"):
        path = write_conversation(eva_run / "records" / name, name) / "result.json"
        path.write_text(path.read_text()[:100])
    with pytest.raises(ConfigurationError) as caught:
        adopt(eva_run)

    assert [fault.file for fault in caught.value.faults] == [
        eva_run / "records" / "1.1" / "result.json",
        eva_run / "records" / "1.2" / "result.json",
    ]
    assert "is damaged or was cut off" in str(caught.value)
    assert not any(Path.cwd().iterdir())


def test_a_damaged_configuration_is_named(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    path = eva_run / "config.json"
    path.write_text(path.read_text()[:50])
    with pytest.raises(ConfigurationError, match=r"config\.json: is damaged or was cut off"):
        adopt(eva_run)


def test_damaged_scores_and_transcripts_do_not_stand_in_the_way(eva_run: Path) -> None:
    for name in ("1.1", "1.1_failed_attempt_1"):
        directory = write_conversation(eva_run / "records" / name)
        (directory / "metrics.json").write_text('{"metrics": {')
        (directory / "transcript.jsonl").write_text('{"timesta')
    adoption = adopt(eva_run)

    directory = adoption.evaluation.run_directory / "records" / "1.1"
    assert (directory / "transcript.jsonl").is_symlink()


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (None, "is not a run directory of EVA's: it has no config.json"),
        ({"agent": {"url": "ws://x"}}, "is a run directory of an evaluation already"),
        ({**CONFIG, "num_trials": 0}, "config.json: num_trials: "),
        (CONFIG, "holds no conversation to adopt"),
    ],
)
def test_what_is_no_run_of_evas_is_refused(
    tmp_path: Path, config: dict[str, object] | None, complaint: str
) -> None:
    run = tmp_path / "run"
    (run / "records").mkdir(parents=True)
    if config is not None:
        write_json(run / "config.json", config)
    with pytest.raises(ConfigurationError, match=complaint):
        adopt(run)


def test_single_calls_beside_trials_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", num_trials=2)
    write_conversation(run / "records" / "1.1")
    write_conversation(run / "records" / "1.2" / "trial_0", "1.2")
    with pytest.raises(ConfigurationError, match=r"record '1\.1': was called without trials"):
        adopt(run)


def test_what_is_there_already_is_not_overwritten(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    first = adopt(eva_run, name="mine")
    with pytest.raises(ConfigurationError, match="is there already") as caught:
        adopt(eva_run, name="mine")
    assert {fault.file for fault in caught.value.faults} == {
        first.evaluation_file,
        first.evaluation.run_directory,
        first.evaluation.data_set,
    }
    assert adopt(eva_run, name="another").evaluation.name == "another"


def test_an_unusable_name_is_refused(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    with pytest.raises(ConfigurationError, match="name: "):
        adopt(eva_run, name="not a name")


def test_a_failed_adoption_leaves_no_run_directory(
    eva_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_conversation(eva_run / "records" / "1.1")

    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "symlink_to", fail)
    with pytest.raises(OSError, match="the disk is full"):
        adopt(eva_run)
    assert not any(Path("runs").iterdir())


def test_events_are_marked_as_adopted_and_keep_evas_times(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    adoption = adopt(eva_run)
    root = RunDirectory(adoption.evaluation.run_directory)
    started, ended = read_events(root.journal(adoption.tasks[0].task))

    assert started.event is AttemptEventKind.STARTED
    assert started.adopted
    assert started.run_id == CONFIG["run_id"]
    assert (ended.time - started.time).total_seconds() == 20


def test_the_evaluation_file_says_what_to_fill_in(eva_run: Path) -> None:
    write_conversation(eva_run / "records" / "1.1")
    text = adopt(eva_run).evaluation_file.read_text(encoding="utf-8")

    assert "put your agent's address\n# into agent.url" in text
    assert "such as response_latency, is left out" in text
    assert yaml.safe_load(text)["agent"] == {"url": "ws://agent.invalid/media"}


def test_the_run_may_be_adopted_through_a_relative_path(
    eva_run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_conversation(eva_run / "records" / "1.1")
    monkeypatch.chdir(eva_run)
    shutil.copytree(eva_run, tmp_path / "copy")
    adoption = adopt(Path("../copy"), evaluations=tmp_path / "e", output_dir=tmp_path / "o")

    directory = adoption.evaluation.run_directory / "records" / "1.1"
    assert (directory / "user_simulator_events.jsonl").read_bytes()
