from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.eva_placeholders import fill_in
from orchestrator_assets.records import Record, Task, load_records, tasks_of

ROWS = [
    {
        "id": "one",
        "goal": "Ask.",
        "turns": ["Hello.", {"say": "Bye.", "barge_in_after_seconds": 1}],
    },
    {"id": "zwei ü", "persona": "höflich", "turns": ["Guten Tag."], "weather": {"sky": "grau"}},
]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["set.json", "set.jsonl", "set.yaml", "wrapped.json", "bom.json"])
def test_every_file_type_gives_the_same_records(tmp_path: Path, name: str) -> None:
    text = {
        "set.json": json.dumps(ROWS),
        "set.jsonl": "\n\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n",
        "set.yaml": yaml.safe_dump(ROWS, allow_unicode=True),
        "wrapped.json": json.dumps({"records": ROWS}),
        "bom.json": "\ufeff" + json.dumps(ROWS),
    }[name]
    records = load_records(write(tmp_path / name, text))
    assert [record.id for record in records] == ["one", "zwei ü"]
    assert records[0].turns[1].barge_in_after_seconds == 1
    assert records[1].turns[0].say == "Guten Tag."


def test_json_lines_may_hold_unicode_line_separators(tmp_path: Path) -> None:
    text = json.dumps({"id": "a", "goal": "line\u2028separator"}, ensure_ascii=False)
    assert load_records(write(tmp_path / "set.jsonl", text))[0].goal == "line\u2028separator"


def test_fields_we_do_not_know_are_kept(tmp_path: Path) -> None:
    record = load_records(write(tmp_path / "set.json", json.dumps(ROWS)))[1]
    assert record.model_dump()["weather"] == {"sky": "grau"}


def test_every_fault_is_listed_with_file_record_and_field(tmp_path: Path) -> None:
    rows = [
        {"id": "no_words", "turns": [{"say": ""}]},
        {"turns": ["Hello."]},
        {"id": "both", "expected_outcome": {"state": {}, "changes": {}}},
        {"id": "pointer", "expected_outcome": {"changes": {"a/b": 1}}},
        {"id": "no_turn", "turns": ["Hi."], "caller_faults": [{"kind": "skip_turn", "turn": 1}]},
        {"id": "mute", "turns": ["Hi."], "caller_faults": [{"kind": "misspeak", "turn": 0}]},
        {"id": "typo", "turns": [{"say": "Hi.", "barge_in": 1}]},
        "just text",
    ]
    path = write(tmp_path / "set.json", json.dumps(rows))
    with pytest.raises(ConfigurationError) as caught:
        load_records(path)
    faults = [str(fault) for fault in caught.value.faults]
    assert len(faults) == len(rows)
    assert all(fault.startswith(str(path)) for fault in faults)
    for name, field in [
        ("record 'no_words'", "turns.0.say"),
        ("record number 2", "id"),
        ("record 'both'", "either `state` or `changes`"),
        ("record 'pointer'", "JSON Pointer"),
        ("record 'no_turn'", "turn 1"),
        ("record 'mute'", "spoken"),
        ("record 'typo'", "barge_in"),
        ("record number 8", ""),
    ]:
        assert any(name in fault and field in fault for fault in faults), (name, faults)


def test_repeated_ids_are_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "set.json", json.dumps([{"id": "twin"}, {"id": "x"}, {"id": "twin"}]))
    with pytest.raises(ConfigurationError, match=r"'twin': the id stands 2 times"):
        load_records(path)


def test_ids_that_differ_only_in_case_are_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "set.json", json.dumps([{"id": "Twin"}, {"id": "twin"}]))
    with pytest.raises(
        ConfigurationError, match=r"'twin': differs from record 'Twin' only in case"
    ):
        load_records(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("set.json", "{", "can't be parsed"),
        ("set.jsonl", '{"id": "a"}\n{', "line 2: can't be parsed"),
        ("set.yaml", "a: [", "can't be parsed"),
        ("set.json", "[]", "holds no record"),
        ("set.yaml", "", "holds no record"),
        ("set.json", '"text"', "must be a list of records"),
        ("set.csv", "id", "unknown file type"),
    ],
)
def test_a_file_that_is_no_data_set_is_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_records(write(tmp_path / name, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.json: can't be read"):
        load_records(tmp_path / "nowhere.json")


def test_a_task_of_one_trial_has_the_records_own_id() -> None:
    task = Task(Record(id="a/b"))
    assert (task.id, task.key, str(task.path)) == ("a/b", "a@2Fb", "a@2Fb")


def test_trials_of_a_record_stand_side_by_side() -> None:
    tasks = tasks_of([Record(id="a"), Record(id="b")], num_trials=2)
    assert [task.id for task in tasks] == ["a/trial_0", "a/trial_1", "b/trial_0", "b/trial_1"]
    assert tasks[1].key == "a:trial_1"
    assert str(tasks[1].path) == "a/trial_1"


def test_a_planted_fault_applies_to_its_attempts_only() -> None:
    record = Record.model_validate(
        {
            "id": "a",
            "turns": ["Hi."],
            "caller_faults": [
                {"kind": "skip_turn", "turn": 0, "attempts": [1, 3]},
                {"kind": "hang_up_early", "turn": 0},
            ],
        }
    )
    some, always = record.caller_faults
    assert [some.applies_to(attempt) for attempt in (1, 2, 3)] == [True, False, True]
    assert always.applies_to(17)


def test_all_of_evas_airline_records_load(eva_data: Path) -> None:
    path = eva_data / "airline_dataset.json"
    records = load_records(path)
    rows = [fill_in(row) for row in json.loads(path.read_text(encoding="utf-8"))]
    assert len(records) == 50
    for record, row in zip(records, rows, strict=True):
        assert record.id == row["id"]
        assert record.goal == row["user_goal"]["high_level_user_goal"]
        assert record.persona == row["user_config"]["user_persona"]
        assert record.expected_outcome is not None
        expected = row["ground_truth"]["expected_scenario_db"]
        assert record.expected_outcome.state == expected
        assert "_NAME" not in json.dumps(expected)
        kept = record.model_dump(mode="json")
        assert all(kept[field] == value for field, value in row.items())


def test_what_evas_records_leave_open_is_filled_in(tmp_path: Path) -> None:
    row = {
        "id": "1",
        "user_goal": "<FIRST_NAME> calls for <COMPANION_FIRST_NAME> and <UNKNOWN>.",
        "user_config": {"user_persona": "<LAST_NAME>"},
        "ground_truth": {
            "expected_scenario_db": {
                "mail": ["<FIRST_NAME_ROMANIZED>.<LAST_NAME_ROMANIZED>@example.com"],
                "phone": "<PHONE>",
            }
        },
        "culture_overrides": {
            "en": {
                "first_name": "Ada",
                "last_name": "Byté",
                "phone": "+1",
                "companion": {"first_name": "Bo"},
            }
        },
        "romanized_culture_overrides": {"en": {"last_name": "Byte"}},
    }
    (record,) = load_records(write(tmp_path / "set.json", json.dumps([row])))

    assert record.goal == "Ada calls for Bo and <UNKNOWN>."
    assert record.persona == "Byté"
    assert record.expected_outcome is not None
    assert record.expected_outcome.state == {"mail": ["ada.byte@example.com"], "phone": "+1"}
