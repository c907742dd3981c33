"""What `config.json` tells of the judges."""

from __future__ import annotations

import json
from pathlib import Path

from evaluation_fakes import write_evaluation

from orchestrator_assets.evaluation import load_evaluation
from orchestrator_assets.provenance import resolved_configuration


def test_judges_are_told_without_their_secrets(tmp_path: Path) -> None:
    judge = {
        "model": "m",
        "base_url": "https://me:hush@judge.example/v1?api_key=hush",
        "extra_body": {
            "max_tokens": 100,
            "api_key": "hush",
            "provider": [{"auth_token": "hush", "name": "n"}],
        },
    }
    path = write_evaluation(tmp_path, ["a"], judge=judge, audio_judge={"model": "n"})

    configuration = resolved_configuration(load_evaluation(path))

    assert "hush" not in json.dumps(configuration)
    assert configuration["judge"]["base_url"] == "https://***@judge.example/v1?api_key=***"
    assert configuration["judge"]["extra_body"] == {
        "max_tokens": 100,
        "api_key": "***",
        "provider": [{"auth_token": "***", "name": "n"}],
    }
    assert configuration["judge"]["api_key_env"] == "OPENAI_API_KEY"
    assert configuration["audio_judge"]["model"] == "n"
    assert configuration["audio_judge"]["base_url"] is None


def test_an_evaluation_without_judges_says_so(tmp_path: Path) -> None:
    configuration = resolved_configuration(load_evaluation(write_evaluation(tmp_path, ["a"])))

    assert configuration["judge"] is None
    assert configuration["audio_judge"] is None
