"""What a judge takes for an answer, and what it makes of everything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asking import Asking, Verdict
from judge_server import Behaviour, JudgeServer, answers, completion, says, sends

GOOD = {"rating": 3, "reason": "all said"}
GOOD_TEXT = json.dumps(GOOD)

MakeAsking = Callable[..., Asking]


def sends_json(value: Any) -> Behaviour:
    return sends(json.dumps(value).encode())


def without_content() -> dict[str, Any]:
    body = completion(None)
    del body["choices"][0]["message"]
    return body


UNUSABLE = {
    "no JSON at all": (sends(b"<html>", content_type="text/html"), "is not JSON"),
    "no JSON though it says so": (sends(b'{"choices": ['), "is not JSON"),
    "nothing": (sends(b""), "is not JSON"),
    "bytes that are no text": (sends(b"\xff\xfe\x00"), "is not JSON"),
    "a list": (sends_json([1]), "is no chat completion"),
    "an error that claims success": (
        sends_json({"error": {"message": "overloaded"}}),
        "is no chat completion: choices",
    ),
    "no choices": (sends_json({**completion(""), "choices": []}), "is no chat completion: choices"),
    "no message": (sends_json(without_content()), "is no chat completion: choices.0.message"),
    "content that is no text": (says([{"type": "text"}]), "is no chat completion: choices.0."),
    "no content": (says(None), "is empty"),
    "blank content": (says(" \n"), "is empty"),
    "a refusal": (says(None, refusal="I'd rather not."), "is a refusal: I'd rather not."),
    "a refusal beside an answer": (says(GOOD_TEXT, refusal="No."), "is a refusal: No."),
    "an answer cut off": (says(GOOD_TEXT, finish_reason="length"), "was cut off"),
    "a filtered answer": (says(GOOD_TEXT, finish_reason="content_filter"), "content filter"),
    "a tool call": (says(GOOD_TEXT, finish_reason="tool_calls"), "is a call of a tool"),
    "plain text": (says("Rating: 3"), "is not JSON"),
    "text before": (says(f"Here you are: {GOOD_TEXT}"), "is not JSON"),
    "text after": (says(f"{GOOD_TEXT} I hope it helps."), "is not JSON"),
    "a fence with text around": (says(f"Sure:\n```json\n{GOOD_TEXT}\n```"), "is not JSON"),
    "two answers": (says(f"{GOOD_TEXT}\n{GOOD_TEXT}"), "is not JSON"),
    "deep brackets": (says("[" * 50_000), "is not JSON"),
    "a missing field": (answers({"rating": 3}), "reason: Field required"),
    "a field too many": (answers({**GOOD, "score": 1}), "score: Extra inputs"),
    "a rating out of range": (answers({**GOOD, "rating": 4}), "rating: Input should be 1, 2 or 3"),
    "a share out of range": (answers({**GOOD, "share": 1.5}), "share: Input should be less than"),
    "a number as text": (answers({**GOOD, "rating": "3"}), "rating: "),
    "a truth for a number": (answers({**GOOD, "rating": True}), "rating: "),
    "a truth for a share": (answers({**GOOD, "share": True}), "share: "),
    "nothing for a text": (answers({**GOOD, "reason": None}), "reason: "),
    "another type altogether": (answers([3]), "it: "),
    "not a number": (answers({**GOOD, "share": float("nan")}), "holds NaN, which is no number"),
    "infinity": (answers({**GOOD, "share": float("inf")}), "holds Infinity"),
    "a number too big": (says(GOOD_TEXT[:-1] + ', "share": 1e999}'), "a number that is too big"),
    "a field twice": (says('{"rating": 3, "rating": 1, "reason": ""}'), "the same field twice"),
    "half a character, escaped by the model": (
        says('{"rating": 3, "reason": "\\ud800"}'),
        "half of a character",
    ),
    "half a character, escaped by the endpoint": (
        says('{"rating": 3, "reason": "\ud800"}'),
        "half of a character",
    ),
}


@pytest.mark.parametrize(("behaviour", "why"), UNUSABLE.values(), ids=UNUSABLE)
async def test_what_is_no_answer_is_asked_for_again_and_then_an_error(
    asking: MakeAsking, server: JudgeServer, behaviour: Behaviour, why: str
) -> None:
    server.script = [behaviour, behaviour]
    judge = asking(answer_tries=2)

    error = await judge.error()

    assert why in str(error)
    assert str(error).endswith(", asked 2 times")
    assert error.use is not None
    assert error.use.calls == 2
    assert error.raw_answer is not None
    assert len(server.requests) == 2
    calls = judge.ledger()
    assert [call.outcome.value for call in calls] == ["unusable_answer"] * 2
    assert all(why in str(call.error) for call in calls)
    assert calls[-1].raw_answer == error.raw_answer


@pytest.mark.parametrize(("behaviour", "why"), UNUSABLE.values(), ids=UNUSABLE)
async def test_a_good_answer_makes_up_for_it(
    asking: MakeAsking, server: JudgeServer, behaviour: Behaviour, why: str
) -> None:
    server.script = [behaviour]
    judge = asking()

    judgement = await judge.ask()

    assert judgement.answer == Verdict(rating=3, reason="all said")
    assert judgement.use.calls == 2
    assert judge.outcomes() == ["unusable_answer", "answered"]


@pytest.mark.parametrize(
    "text",
    [
        GOOD_TEXT,
        f"\n  {GOOD_TEXT}\n",
        f"```json\n{GOOD_TEXT}\n```",
        f"```\n{json.dumps(GOOD, indent=2)}\n```\n",
    ],
)
async def test_a_code_fence_is_no_fault(asking: MakeAsking, server: JudgeServer, text: str) -> None:
    server.script = [says(text)]

    assert (await asking().ask()).answer == Verdict(rating=3, reason="all said")
    assert len(server.requests) == 1


async def test_an_answer_keeps_what_is_not_ascii(asking: MakeAsking, server: JudgeServer) -> None:
    server.script = [answers({"rating": 1, "reason": "„Grüß Gott“ 😀"})]

    assert (await asking().ask()).answer.reason == "„Grüß Gott“ 😀"


async def test_the_raw_answer_is_kept_word_for_word(
    asking: MakeAsking, server: JudgeServer
) -> None:
    server.script = [says("Rating: 3, „sehr höflich“")]
    judge = asking(answer_tries=1)

    error = await judge.error()

    assert error.raw_answer == "Rating: 3, „sehr höflich“"
    assert judge.ledger()[0].raw_answer == "Rating: 3, „sehr höflich“"
    assert str(error).startswith(f"test-judge at {server.base_url}: its answer is not JSON: ")


async def test_of_a_huge_answer_only_the_head_is_kept(
    asking: MakeAsking, server: JudgeServer
) -> None:
    server.script = [says("x" * 3_000_000)]
    judge = asking(answer_tries=1)

    error = await judge.error()

    assert error.raw_answer == "x" * 20_000
    assert judge.ledger()[0].raw_answer == "x" * 20_000
    assert len(str(error)) < 1_500


async def test_a_huge_answer_that_is_good_is_taken(asking: MakeAsking, server: JudgeServer) -> None:
    server.script = [answers({"rating": 2, "reason": "x" * 3_000_000})]
    judge = asking()

    assert len((await judge.ask()).answer.reason) == 3_000_000
    assert judge.ledger()[0].raw_answer is None


async def test_a_score_is_never_made_of_an_answer_to_an_earlier_question(
    asking: MakeAsking, server: JudgeServer
) -> None:
    server.script = [answers({"rating": 3, "reason": "a"}), says("?")]
    judge = asking(answer_tries=1)

    assert (await judge.ask()).answer.rating == 3
    assert (await judge.error()).raw_answer == "?"
