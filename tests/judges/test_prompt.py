"""Prompts: packaged, filled, fingerprinted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from asking import Verdict
from pydantic import BaseModel

from orchestrator_assets.judges.prompt import Prompt


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "package_with_prompts"
    (tmp_path / name / "prompts").mkdir(parents=True)
    (tmp_path / name / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop(name, None)
    return name


def write_prompt(folder: Path, package: str, content: str) -> None:
    (folder / package / "prompts" / "rude.md").write_text(content, encoding="utf-8")


def test_a_packaged_prompt_begins_with_its_version(tmp_path: Path, package: str) -> None:
    write_prompt(tmp_path, package, "---\nversion: 1.2\n---\n\n# Is it „rude“?\n\n$text\n")

    assert Prompt.load(package, "rude") == Prompt("rude", "1.2", "# Is it „rude“?\n\n$text")


def test_a_prompt_without_a_version_is_refused_by_name(tmp_path: Path, package: str) -> None:
    write_prompt(tmp_path, package, "# Is it rude?\n")

    with pytest.raises(ValueError, match=r"package_with_prompts/prompts/rude\.md: must begin with"):
        Prompt.load(package, "rude")


def test_a_prompt_that_is_not_there_is_named(package: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"polite\.md"):
        Prompt.load(package, "polite")


def test_values_are_put_in_as_they_are() -> None:
    prompt = Prompt("p", "1", "$a costs $$5, ${b}.")

    assert prompt.filled({"a": "$b", "b": "$$ {x}", "c": ""}) == "$b costs $5, $$ {x}."


def test_a_missing_value_is_an_error_that_names_all() -> None:
    with pytest.raises(ValueError, match=r"prompt 'p': there is no value for a, b"):
        Prompt("p", "1", "$a $b $c").filled({"c": ""})


def test_a_dollar_sign_that_is_no_placeholder_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"prompt 'p': .*; write \$\$ for a dollar sign"):
        Prompt("p", "1", "It costs $5.").filled({})


def test_the_hash_changes_with_the_text_and_the_schema_but_not_with_the_name() -> None:
    class Other(BaseModel):
        rating: int

    prompt = Prompt("p", "1", "$a")
    first = prompt.hash_for(Verdict)

    assert len(first) == 12
    assert int(first, 16) >= 0
    assert Prompt("q", "2", "$a").hash_for(Verdict) == first
    assert Prompt("p", "1", "$b").hash_for(Verdict) != first
    assert prompt.hash_for(Other) != first
