"""Which model, address and key a judge takes."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator_assets.errors import JudgeError
from orchestrator_assets.judges.access import access_to
from orchestrator_assets.judges.settings import JudgeSettings

KEY = {"OPENAI_API_KEY": "sk-123456"}


def fault_of(environment: dict[str, str], name: str = "judge", **settings: Any) -> str:
    with pytest.raises(JudgeError) as caught:
        access_to(JudgeSettings(**settings), environment=environment, name=name)
    return str(caught.value)


def test_everything_may_come_from_the_environment() -> None:
    environment = {**KEY, "JUDGE_MODEL": "m", "OPENAI_BASE_URL": "https://judge.example/v1/"}

    access = access_to(JudgeSettings(), environment=environment)

    assert (access.model, access.base_url) == ("m", "https://judge.example/v1")
    assert access.api_key == "sk-123456"


def test_settings_win_over_the_environment() -> None:
    environment = {
        **KEY,
        "OTHER_KEY": " sk-other\n",
        "JUDGE_MODEL": "m",
        "OPENAI_BASE_URL": "https://judge.example/v1",
    }
    settings = JudgeSettings(model="n", base_url="https://b.example/v1", api_key_env="OTHER_KEY")

    access = access_to(settings, environment=environment)

    assert (access.model, access.base_url) == ("n", "https://b.example/v1")
    assert (access.api_key, access.key_source) == ("sk-other", "$OTHER_KEY")


def test_without_an_address_it_is_openai_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://not.asked.example/v1")

    access = access_to(JudgeSettings(model="m"), environment=KEY)

    assert access.base_url == "https://api.openai.com/v1"


def test_all_that_is_missing_is_told_at_once() -> None:
    assert fault_of({"JUDGE_MODEL": " "}, name="audio_judge") == (
        "audio_judge: no model; set audio_judge.model, or $JUDGE_MODEL in the environment; no key "
        "for https://api.openai.com/v1; set $OPENAI_API_KEY in the environment"
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/v1",
        "http://127.0.0.1/v1",
        "http://[::1]:8000/v1",
        "http://10.1.2.3/v1",
        "http://vllm:8000/v1",
        "http://host.docker.internal:11434/v1",
        "https://me:secret@judge.example/v1",
    ],
)
def test_an_endpoint_nearby_needs_no_key(url: str) -> None:
    access = access_to(JudgeSettings(model="m", base_url=url), environment={})

    assert access.api_key == "none"
    assert "secret" not in access.base_url


def test_credentials_are_not_in_the_representation() -> None:
    settings = JudgeSettings(model="m", base_url="https://me:secret@judge.example/v1")

    shown = repr(access_to(settings, environment=KEY))

    assert "sk-123456" not in shown
    assert "bWU6c2VjcmV0" not in shown
    assert "secret" not in shown


@pytest.mark.parametrize("key", ["sk-\u00fc", "sk-12\n34", "sk-\x00"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key: str) -> None:
    fault = fault_of({"OPENAI_API_KEY": key}, model="m")

    assert fault == "judge: $OPENAI_API_KEY holds characters that no key has"


@pytest.mark.parametrize(
    "url", ["judge.example/v1", "ftp://judge.example", "http://", "http://a:x/"]
)
def test_an_address_from_the_environment_that_is_none_is_refused(url: str) -> None:
    assert "base_url" in fault_of({**KEY, "OPENAI_BASE_URL": url}, model="m")


def test_an_address_with_a_query_is_refused_and_its_key_kept_secret() -> None:
    fault = fault_of(KEY, model="m", base_url="https://judge.example/v1?key=hush-hush&x=1")

    assert "must end before the `?`" in fault
    assert "hush" not in fault
