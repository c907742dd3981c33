"""What is sent to a judge, and what it costs."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Callable
from typing import Literal, Self

import numpy as np
import pytest
import soundfile
from asking import PROMPT, Asking, Verdict
from judge_server import JudgeServer, holds, says
from pydantic import BaseModel, Field, model_validator

from orchestrator_assets.judges.ledger import judge_use

MakeAsking = Callable[..., Asking]


async def test_the_prompt_goes_out_with_its_values_and_a_strict_schema(
    asking: MakeAsking, server: JudgeServer
) -> None:
    await asking().ask("Ein $x für „Größe“")

    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.prompt == "Rate what was said: Ein $x für „Größe“"
    assert request.body["model"] == "test-judge"
    assert "temperature" not in request.body
    form = request.body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["name"] == "Verdict"
    assert form["json_schema"]["strict"] is True
    schema = form["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["rating", "reason", "share"]


async def test_the_schema_holds_no_bounds_that_some_endpoint_refuses(
    asking: MakeAsking, server: JudgeServer
) -> None:
    class Part(BaseModel):
        text: str = Field(min_length=1, pattern="^a")

    class Bounded(BaseModel):
        format: Literal["pattern", "default"] = "default"
        share: float = Field(ge=0, le=1)
        parts: list[Part] = Field(min_length=1, description="What it says.")

    server.default = {"format": "pattern", "share": 0.5, "parts": [{"text": "a"}]}
    judge = asking()
    await judge.judge.ask(
        PROMPT, {"transcript": ""}, Bounded, metric="m", directory=judge.directory
    )

    schema = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert schema == {
        "$defs": {
            "Part": {
                "properties": {"text": {"title": "Text", "type": "string"}},
                "required": ["text"],
                "title": "Part",
                "type": "object",
                "additionalProperties": False,
            }
        },
        "properties": {
            "format": {"enum": ["pattern", "default"], "title": "Format", "type": "string"},
            "share": {"title": "Share", "type": "number"},
            "parts": {
                "description": "What it says.",
                "items": {"$ref": "#/$defs/Part"},
                "title": "Parts",
                "type": "array",
            },
        },
        "required": ["format", "share", "parts"],
        "title": "Bounded",
        "type": "object",
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("structured", "form"), [("json_object", {"type": "json_object"}), ("none", None)]
)
async def test_an_endpoint_that_takes_no_schema_is_told_it_in_words(
    asking: MakeAsking, server: JudgeServer, structured: str, form: dict[str, str] | None
) -> None:
    await asking(structured_output=structured).ask()

    [request] = server.requests
    assert request.body.get("response_format") == form
    assert request.prompt.startswith("Rate what was said: Hello.\n\nAnswer with one JSON object")
    assert json.dumps(Verdict.model_json_schema()) in request.prompt


async def test_settings_are_sent_along(asking: MakeAsking, server: JudgeServer) -> None:
    await asking(temperature=0.0, extra_body={"reasoning_effort": "low"}).ask()

    assert server.requests[0].body["temperature"] == 0.0
    assert server.requests[0].body["reasoning_effort"] == "low"


async def test_a_transcript_with_half_a_character_can_be_judged(
    asking: MakeAsking, server: JudgeServer
) -> None:
    await asking().ask("cut \ud83d here")

    assert server.requests[0].prompt == "Rate what was said: cut \ufffd here"


async def test_audio_goes_out_as_a_wav_file(asking: MakeAsking, server: JudgeServer) -> None:
    samples = (np.arange(-800, 800) * 20).astype(np.int16)

    await asking().ask(audio=samples, audio_sample_rate_hz=8_000)

    [request] = server.requests
    assert request.audio is not None
    received, rate_hz = soundfile.read(io.BytesIO(request.audio), dtype="int16")
    assert rate_hz == 8_000
    assert np.array_equal(received, samples)
    assert request.prompt == "Rate what was said: Hello."
    assert request.body["messages"][0]["content"][1]["input_audio"]["format"] == "wav"


async def test_a_prompt_without_its_value_asks_nobody(
    asking: MakeAsking, server: JudgeServer
) -> None:
    judge = asking()

    with pytest.raises(ValueError, match="there is no value for transcript"):
        await judge.judge.ask(PROMPT, {}, Verdict, metric="m", directory=judge.directory)

    assert server.requests == []


async def test_cost_is_that_of_every_answer(asking: MakeAsking, server: JudgeServer) -> None:
    server.script = [says("?", usage={"prompt_tokens": 1_000, "completion_tokens": 500})]
    judge = asking(input_usd_per_million_tokens=2.0, output_usd_per_million_tokens=8.0)

    use = (await judge.ask()).use

    assert (use.calls, use.input_tokens, use.output_tokens) == (2, 1_100, 520)
    assert use.cost_usd == pytest.approx((1_100 * 2 + 520 * 8) / 1e6)
    assert (use.unmetered_calls, use.unpriced_calls) == (0, 0)
    assert [call.cost_usd for call in judge.ledger()] == [
        pytest.approx(0.006),
        pytest.approx(0.00036),
    ]


async def test_without_prices_the_cost_is_unknown_and_not_zero(
    asking: MakeAsking, server: JudgeServer
) -> None:
    judge = asking(input_usd_per_million_tokens=2.0)

    use = (await judge.ask()).use

    assert (use.cost_usd, use.unpriced_calls, use.input_tokens) == (None, 1, 100)


@pytest.mark.parametrize(
    "usage",
    [None, {}, "many", {"prompt_tokens": "9", "completion_tokens": 1}, {"prompt_tokens": -1}],
)
async def test_an_endpoint_that_does_not_tell_its_tokens_is_not_free(
    asking: MakeAsking, server: JudgeServer, usage: object
) -> None:
    server.script = [says('{"rating": 3, "reason": ""}', usage=usage)]
    judge = asking(input_usd_per_million_tokens=2.0, output_usd_per_million_tokens=8.0)

    use = (await judge.ask()).use

    assert (use.calls, use.cost_usd, use.unmetered_calls, use.unpriced_calls) == (1, None, 1, 1)
    assert judge.ledger()[0].cost_usd is None


async def test_the_ledger_says_what_was_asked_and_sums_up_by_metric(
    asking: MakeAsking, server: JudgeServer
) -> None:
    judge = asking()
    judgement = await judge.ask()
    await judge.ask()
    await judge.ask(metric="faithfulness")

    call = judge.ledger()[0]
    assert (call.metric, call.model) == ("politeness", "test-judge")
    assert (call.prompt, call.prompt_version) == ("rate_it", "3")
    assert call.prompt_hash == judgement.prompt_hash == PROMPT.hash_for(Verdict)
    assert (call.input_tokens, call.output_tokens) == (100, 20)
    assert call.at.utcoffset() is not None
    assert call.seconds > 0
    use = judge_use(judge.directory)
    assert {metric: each.calls for metric, each in use.items()} == {
        "faithfulness": 1,
        "politeness": 2,
    }


async def test_no_more_are_asked_at_once_than_allowed(
    asking: MakeAsking, server: JudgeServer
) -> None:
    held = threading.Event()
    answer = {"rating": 3, "reason": ""}
    server.script = [holds(held, answer) for _ in range(12)]
    judge = asking(max_concurrent_requests=3)

    questions = [asyncio.ensure_future(judge.ask()) for _ in range(12)]
    async with asyncio.timeout(10):
        while server.live < 3:
            await asyncio.sleep(0.005)
        held.set()
        await asyncio.gather(*questions)

    assert server.most_live == 3
    assert len(judge.ledger()) == 12


async def test_waiting_for_a_place_is_not_counted_as_waiting_for_an_answer(
    asking: MakeAsking, server: JudgeServer
) -> None:
    held = threading.Event()
    server.script = [holds(held, {"rating": 3, "reason": ""})]
    judge = asking(max_concurrent_requests=1, timeout_seconds=5.0)
    first = asyncio.ensure_future(judge.ask())
    second = asyncio.ensure_future(judge.ask())
    async with asyncio.timeout(10):
        while server.live < 1:
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.2)
    held.set()
    await asyncio.gather(first, second)

    assert judge.ledger()[0].seconds >= 0.2
    assert judge.ledger()[1].seconds < 0.2


async def test_a_cancelled_question_gives_its_place_back_and_is_noted(
    asking: MakeAsking, server: JudgeServer
) -> None:
    held = threading.Event()
    server.script = [holds(held, {"rating": 1, "reason": ""})]
    judge = asking(max_concurrent_requests=1)
    question = asyncio.ensure_future(judge.ask())
    async with asyncio.timeout(10):
        while server.live < 1:
            await asyncio.sleep(0.005)

    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    held.set()

    assert (await judge.ask()).answer.rating == 3
    assert judge.outcomes() == ["no_answer", "answered"]
    assert judge.ledger()[0].error == "cancelled"


async def test_an_answer_that_nobody_waits_for_any_more_is_noted(
    asking: MakeAsking, server: JudgeServer
) -> None:
    is_read, go_on = threading.Event(), threading.Event()

    class ReadSlowly(Verdict):
        @model_validator(mode="after")
        def _wait(self) -> Self:
            is_read.set()
            go_on.wait(10)
            return self

    judge = asking()
    question = asyncio.ensure_future(
        judge.judge.ask(
            PROMPT, {"transcript": ""}, ReadSlowly, metric="m", directory=judge.directory
        )
    )
    await asyncio.to_thread(is_read.wait, 10)
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    assert judge.ledger() == []
    go_on.set()

    async with asyncio.timeout(10):
        while judge.outcomes() != ["answered"]:
            await asyncio.sleep(0.005)


async def test_a_ledger_that_is_gone_is_an_error_and_makes_no_directory(
    asking: MakeAsking, server: JudgeServer
) -> None:
    judge = asking()
    gone = judge.directory / "archived"

    with pytest.raises(FileNotFoundError, match="is gone"):
        await judge.ask(directory=gone)

    assert not gone.exists()
