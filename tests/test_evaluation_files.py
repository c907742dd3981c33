"""Where evaluations are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from evaluation_fakes import write_evaluation

from orchestrator_assets import demo
from orchestrator_assets.errors import ConfigurationError
from orchestrator_assets.evaluation_files import (
    EVALUATIONS_VARIABLE,
    find_evaluation,
    find_evaluation_files,
    load_evaluations,
    make_findable,
)


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Set and deleted, so that what a test puts there is undone.
    monkeypatch.setenv(EVALUATIONS_VARIABLE, "")
    monkeypatch.delenv(EVALUATIONS_VARIABLE)


def names() -> list[str]:
    return [file.evaluation.name for file in load_evaluations()]


def test_the_demo_is_always_there() -> None:
    assert find_evaluation_files() == [demo.EVALUATION_FILE]
    assert names() == ["demo"]


def test_the_evaluations_folder_of_the_working_directory_is_searched() -> None:
    write_evaluation(Path("evaluations"), ["a"], name="beta")
    write_evaluation(Path("evaluations"), ["a"], name="alpha")

    assert names() == ["demo", "alpha", "beta"]


def test_the_variable_names_files_and_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    write_evaluation(Path("evaluations"), ["a"], name="not_named")
    single = write_evaluation(Path("one"), ["a"], name="single")
    write_evaluation(Path("two"), ["a"], name="in_folder")
    monkeypatch.setenv(EVALUATIONS_VARIABLE, os.pathsep.join([str(single), "two"]))

    assert names() == ["demo", "single", "in_folder"]


def test_a_data_set_beside_its_evaluation_is_not_taken_for_one() -> None:
    path = write_evaluation(Path("evaluations"), ["a"], name="alpha", data_set="records.yaml")
    path.with_name("records.yaml").write_text("[{id: a}]")

    assert names() == ["demo", "alpha"]


def test_the_faults_of_all_files_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    write_evaluation(Path("evaluations"), ["a"], name="alpha", num_trials=0)
    write_evaluation(Path("evaluations"), ["a"], name="beta", metrics=["charm"])

    with pytest.raises(ConfigurationError) as raised:
        load_evaluations()

    assert {(fault.file and fault.file.name) for fault in raised.value.faults} == {
        "alpha.yaml",
        "beta.yaml",
    }


def test_two_evaluations_of_one_name_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    write_evaluation(Path("evaluations"), ["a"], name="demo")

    with pytest.raises(ConfigurationError, match="rename one"):
        load_evaluations()


def test_a_named_path_that_does_not_exist_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EVALUATIONS_VARIABLE, "nowhere.yaml")

    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml.*does not exist"):
        load_evaluations()


def test_an_evaluation_is_found_by_name_by_file_and_by_default() -> None:
    path = write_evaluation(Path("evaluations"), ["a"], name="alpha")

    assert find_evaluation("alpha").path == path.absolute()
    assert find_evaluation(str(path)).evaluation.name == "alpha"
    assert find_evaluation(None).evaluation.name == "demo"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="there are: demo"):
        find_evaluation("alpah")


def test_a_file_from_elsewhere_becomes_findable_beside_the_others() -> None:
    write_evaluation(Path("evaluations"), ["a"], name="alpha")
    elsewhere = write_evaluation(Path("elsewhere"), ["a"], name="beta")

    make_findable(find_evaluation(str(elsewhere)))

    assert names() == ["demo", "alpha", "beta"]
