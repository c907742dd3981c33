"""Callers judged by language models, over HTTP: a server that answers, and one that does not."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from judge_server import JudgeRequest, JudgeServer, fails, says
from recorded_calls import RecordedCall, voiced_noise

from orchestrator_assets.audio.wav import WavWriter
from orchestrator_assets.call.conversation import CLEAN_CALLER_AUDIO_FILE
from orchestrator_assets.call.speech.base import Samples
from orchestrator_assets.evaluation import SpeechJudge, Validation
from orchestrator_assets.judges.judges import Judges
from orchestrator_assets.judges.ledger import judge_use
from orchestrator_assets.metrics.scores import read_scores
from orchestrator_assets.records import Record, Task, load_records
from orchestrator_assets.validation import judged_behavior, judged_speech
from orchestrator_assets.validation.result import (
    UNJUDGED,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
    ValidationResult,
)
from orchestrator_assets.validation.validator import Validator

LISTENED_TO = Validation.model_validate(
    {"user_speech_fidelity": {"judged_by": SpeechJudge.AUDIO_JUDGE}}
)
FINE = {"transcript": "", "wrong_entities": [], "rating": 3, "reason": "as meant"}
GOAL = "Move the flight with code K7TQ2 to Friday."


class NobodyListens:
    sample_rate_hz = 16_000

    def transcribe(self, samples: Samples) -> str:
        raise AssertionError("the recogniser is not asked")


def rates(**of_texts: dict[str, Any]) -> Any:
    """Return how a judge answers that finds fault with the texts that hold these words."""

    def answer(request: JudgeRequest) -> dict[str, Any]:
        text = request.prompt.split("<text>")[1].split("</text>")[0].strip()
        verdict = {**FINE, "transcript": text}
        for word, changes in of_texts.items():
            if word in text:
                verdict |= changes
        return verdict

    return answer


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(rates()) as server:
        yield server


@pytest.fixture
async def judges(server: JudgeServer) -> AsyncIterator[Judges]:
    settings = server.settings(max_retries=0, answer_tries=1, outage_pause_seconds=0)
    judges = Judges(settings, settings, environment={})
    yield judges
    await judges.aclose()


@pytest.fixture
def unscripted() -> Record:
    return Record.model_validate({"id": "free", "goal": GOAL, "persona": "In a hurry."})


def sound_of(request: JudgeRequest) -> Samples:
    assert request.audio is not None
    samples, rate = soundfile.read(io.BytesIO(request.audio), dtype="int16")
    assert rate == 16_000
    result: Samples = samples
    return result


async def listen(judges: Judges | None, record: Record, directory: Path) -> ValidationResult:
    validator = Validator(LISTENED_TO, NobodyListens(), judges=judges)
    return await validator.validate(Task(record), directory)


async def read(judges: Judges | None, record: Record, directory: Path) -> ValidationResult:
    validator = Validator(Validation(), NobodyListens(), judges=judges)
    return await validator.validate(Task(record), directory)


async def test_each_turn_is_listened_to_by_itself(
    server: JudgeServer, judges: Judges, record: Record, follow_script: Any
) -> None:
    directory = follow_script(3).ends("goodbye")
    result = await listen(judges, record, directory)
    assert result.passed
    score = result.scores[USER_SPEECH_FIDELITY]
    assert score.details["per_turn_ratings"] == {"0": 3, "1": 3, "2": 3}
    assert score.details["judged_by"] == "audio_judge"
    assert score.version == judged_speech.judged_version()
    assert score.prompt_hash == judged_speech.turn_prompt().hash_for(judged_speech.TurnVerdict)
    assert score.judge is not None
    assert (score.judge.calls, score.judge.input_tokens) == (3, 300)
    assert judge_use(directory)[USER_SPEECH_FIDELITY].calls == 3

    asked = sorted(server.requests, key=lambda request: request.prompt)
    for request, turn in zip(asked, sorted(record.turns, key=lambda turn: turn.say), strict=True):
        assert turn.say in request.prompt
        assert sum(other.say in request.prompt for other in record.turns) == 1
        sound = sound_of(request)
        assert sound.size / 16_000 == pytest.approx(1.2, abs=0.01)
        assert np.abs(sound).max() > 10_000
    entities = [request.prompt.split("<entities>")[1].split("</entities>")[0] for request in asked]
    assert [each.strip() for each in entities] == ["(none)", "(none)", "K7TQ2"]


async def test_a_turn_rated_worst_fails_with_the_judges_evidence(
    server: JudgeServer, judges: Judges, record: Record, follow_script: Any
) -> None:
    heard = {"transcript": "I want to sing.", "rating": 1, "reason": "other words"}
    server.default = rates(flight=heard)
    result = await listen(judges, record, follow_script(3).ends("goodbye"))
    assert result.failed_metrics == (USER_SPEECH_FIDELITY,)
    assert result.failure_details[USER_SPEECH_FIDELITY] == (
        "turn 0 rated 1: meant 'I want to change my flight.', heard 'I want to sing.' (other words)"
    )
    turn = result.scores[USER_SPEECH_FIDELITY].details["turns"][0]
    assert (turn["start_seconds"], turn["end_seconds"]) == (1.0, 2.0)


async def test_a_small_fault_passes(
    server: JudgeServer, judges: Judges, record: Record, follow_script: Any
) -> None:
    server.default = rates(flight={"rating": 2})
    result = await listen(judges, record, follow_script(3).ends("goodbye"))
    assert result.passed
    assert result.scores[USER_SPEECH_FIDELITY].details["per_turn_ratings"]["0"] == 2


@pytest.mark.parametrize(
    "verdict",
    [
        {"wrong_entities": ["K7TQ2"]},
        {"wrong_entities": [" k7tq2 "]},
        {"transcript": "My code is K seven T Q three."},
    ],
)
async def test_a_wrong_entity_is_rated_worst_however_mild_the_judge(
    server: JudgeServer,
    judges: Judges,
    record: Record,
    follow_script: Any,
    verdict: dict[str, Any],
) -> None:
    server.default = rates(code=verdict)
    result = await listen(judges, record, follow_script(3).ends("goodbye"))
    assert result.failed_metrics == (USER_SPEECH_FIDELITY,)
    turn = result.scores[USER_SPEECH_FIDELITY].details["turns"][1]
    assert turn["rating"] == 1
    assert turn["entities"] == [{"text": "K7TQ2", "heard": False}]


async def test_an_entity_may_be_written_as_it_sounds(
    server: JudgeServer, judges: Judges, record: Record, follow_script: Any
) -> None:
    server.default = rates(code={"transcript": "my code is k, seven, t, q, two"})
    assert (await listen(judges, record, follow_script(3).ends("goodbye"))).passed


async def test_a_turn_that_is_too_quiet_needs_no_judge(
    server: JudgeServer, judges: Judges, record: Record, follow_script: Any
) -> None:
    call = follow_script(3)
    call.clean = (call.clean * 0.02).astype(np.int16)
    result = await listen(judges, record, call.ends("goodbye"))
    assert USER_SPEECH_FIDELITY in result.failed_metrics
    assert server.requests == []
    reason = result.failure_details[USER_SPEECH_FIDELITY]
    assert "too quiet on audio_user_clean.wav" in reason


async def test_a_line_that_sounds_different_is_listened_to_as_well(
    server: JudgeServer, judges: Judges, record: Record, follow_script: Any
) -> None:
    def with_a_hole(samples: Samples) -> Samples:
        return np.concatenate([samples[:12_000], samples[12_000:12_800] * 0, samples[12_800:]])

    call = follow_script(3)
    call.on_the_line = with_a_hole
    result = await listen(judges, record, call.ends("goodbye"))
    turns = result.scores[USER_SPEECH_FIDELITY].details["turns"]
    assert turns[0]["heard_on"] == ["audio_user_clean.wav", "audio_user.wav"]
    assert len(server.requests) == 4
    heard = [sound_of(each) for each in server.requests if record.turns[0].say in each.prompt]
    assert sum(not np.abs(sound[10_000:10_800]).max() > 100 for sound in heard) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        fails(500),
        says("Fine, I think."),
        says(json.dumps({**FINE, "rating": 4})),
        says(json.dumps({"transcript": "", "rating": 3})),
    ],
)
async def test_a_judge_that_gives_no_answer_leaves_the_speech_unjudged_and_the_rest_judged(
    server: JudgeServer, judges: Judges, record: Record, follow_script: Any, behaviour: Any
) -> None:
    server.script = [behaviour]
    directory = follow_script(3).ends("goodbye")
    result = await listen(judges, record, directory)
    assert not result.passed
    assert result.failed_metrics == ()
    assert result.errored_metrics == (USER_SPEECH_FIDELITY,)
    assert result.scores[USER_BEHAVIORAL_FIDELITY].score == 1.0
    score = result.scores[USER_SPEECH_FIDELITY]
    assert score.error is not None
    assert score.error.startswith("JudgeError: test-judge at http://127.0.0.1")
    assert score.judge is not None
    assert score.judge.calls >= 2

    assert (await listen(judges, record, directory)).passed


async def test_an_error_does_not_replace_the_score_but_the_verdict_is_open(
    server: JudgeServer, judges: Judges, record: Record, follow_script: Any
) -> None:
    directory = follow_script(3).ends("goodbye")
    assert (await listen(judges, record, directory)).passed
    server.script = [fails(500)]
    result = await listen(judges, record, directory)
    assert result.errored_metrics == (USER_SPEECH_FIDELITY,)
    kept = read_scores(directory)[USER_SPEECH_FIDELITY]
    assert kept.score == 3.0
    assert kept.latest_error is not None


async def test_without_an_audio_judge_the_speech_is_errored_not_passed(
    record: Record, follow_script: Any
) -> None:
    result = await listen(None, record, follow_script(3).ends("goodbye"))
    assert result.errored_metrics == (USER_SPEECH_FIDELITY,)
    assert "no `audio_judge`" in result.failure_details[USER_SPEECH_FIDELITY]


NO_BREACH = {"breaches": [], "summary": "It did what it was told."}
BREACH = {
    "kind": "wrong_information",
    "turn": 1,
    "quote": "K7TQ9",
    "reason": "the brief says K7TQ2",
}


def free_call(call: RecordedCall) -> Path:
    """A call of a language model: timed turns, whose numbers mean nothing, and the agent's."""
    call.agent_says(at=0.5)
    call.noted("assistant_speech", "How can I help you?", at=1.6)
    call.caller_says(0, "I want to move my flight.", at=3)
    call.noted("assistant_speech", "What is the code?", at=5)
    call.caller_says(0, "[slow] It is K7TQ9.", at=7)
    return call.agent_says(at=9).ends("goodbye")


async def test_a_caller_without_a_script_is_read_against_its_goal(
    server: JudgeServer, judges: Judges, unscripted: Record, call: RecordedCall
) -> None:
    server.default = NO_BREACH
    result = await read(judges, unscripted, free_call(call))
    score = result.scores[USER_BEHAVIORAL_FIDELITY]
    assert (score.score, score.normalized_score) == (1.0, 1.0)
    assert score.details["reason"] == "It did what it was told."
    assert score.version == judged_behavior.judged_version()
    assert score.judge is not None
    (request,) = server.requests
    assert GOAL in request.prompt
    assert "In a hurry." in request.prompt
    said = [line for line in request.prompt.splitlines() if "SERVICE: " in line or " s] " in line]
    assert said == [
        "[1.6 s] SERVICE: How can I help you?",
        "[4.0 s] CALLER 0: I want to move my flight.",
        "[5.0 s] SERVICE: What is the code?",
        "[8.0 s] CALLER 1: It is K7TQ9.",
    ]
    assert "The actor ended the call." in request.prompt


async def test_a_breach_fails_with_the_turn_and_its_time(
    server: JudgeServer, judges: Judges, unscripted: Record, call: RecordedCall
) -> None:
    server.default = {"breaches": [BREACH], "summary": "A wrong code."}
    result = await read(judges, unscripted, free_call(call))
    assert USER_BEHAVIORAL_FIDELITY in result.failed_metrics
    score = result.scores[USER_BEHAVIORAL_FIDELITY]
    assert score.score == 0.0
    assert score.details["reason"] == "turn 1: wrong_information (the brief says K7TQ2)"
    (complaint,) = score.details["complaints"]
    assert complaint["quote"] == "K7TQ9"
    assert (complaint["start_seconds"], complaint["end_seconds"]) == (7.0, 8.0)


@pytest.mark.parametrize(
    "behaviour",
    [
        fails(503),
        says("no JSON"),
        says(json.dumps({"breaches": [{**BREACH, "kind": "rude"}], "summary": ""})),
    ],
)
async def test_an_unusable_verdict_on_the_behaviour_is_neither_pass_nor_fail(
    server: JudgeServer, judges: Judges, unscripted: Record, call: RecordedCall, behaviour: Any
) -> None:
    server.script = [behaviour]
    result = await read(judges, unscripted, free_call(call))
    assert USER_BEHAVIORAL_FIDELITY in result.errored_metrics
    assert USER_BEHAVIORAL_FIDELITY not in result.failed_metrics
    assert not result.passed


async def test_a_verdict_on_a_turn_that_the_call_does_not_have_is_unusable(
    server: JudgeServer, judges: Judges, unscripted: Record, call: RecordedCall
) -> None:
    server.default = {"breaches": [{**BREACH, "turn": 7}], "summary": "A wrong code."}
    result = await read(judges, unscripted, free_call(call))
    assert USER_BEHAVIORAL_FIDELITY in result.errored_metrics
    message = result.failure_details[USER_BEHAVIORAL_FIDELITY]
    assert message == (
        "JudgeError: test-judge: its answer names turn 7 of the caller, which spoke 2"
    )


async def test_without_a_judge_a_caller_without_a_script_is_skipped_and_told_how_to_have_one(
    unscripted: Record, call: RecordedCall
) -> None:
    result = await read(None, unscripted, free_call(call))
    score = result.scores[USER_BEHAVIORAL_FIDELITY]
    assert score.skipped
    assert score.version == UNJUDGED
    assert "configure a language model (`judge`)" in score.details["reason"]


async def test_without_a_goal_nothing_says_what_the_caller_should_have_done(
    server: JudgeServer, judges: Judges, call: RecordedCall
) -> None:
    result = await read(judges, Record(id="free"), free_call(call))
    assert result.scores[USER_BEHAVIORAL_FIDELITY].skipped
    assert server.requests == []


async def test_the_timed_turns_of_a_caller_without_a_script_are_rated_one_by_one(
    server: JudgeServer, judges: Judges, call: RecordedCall
) -> None:
    record = Record(id="free")
    result = await listen(judges, record, free_call(call))
    assert result.scores[USER_SPEECH_FIDELITY].details["per_turn_ratings"] == {"0": 3, "1": 3}
    assert len(server.requests) == 2


class AdoptedCall:
    """A conversation as EVA leaves it: nothing says when in the recording a turn was spoken."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        at = 1_772_403_724_000
        self.events: list[dict[str, Any]] = [
            {"timestamp": at, "type": "connection_state", "data": {"state": "session_started"}},
            {"timestamp": at + 3_000, "type": "assistant_speech", "data": {"text": "Hello?"}},
            {"timestamp": at + 4_500, "type": "user_speech", "data": {"text": "I, er, want to"}},
            {
                "timestamp": at + 4_600,
                "type": "user_speech_correction",
                "data": {"original": "I, er, want to", "corrected": "I, er"},
            },
            {"timestamp": at + 9_000, "type": "user_speech", "data": {"text": "[slow] K7TQ2."}},
        ]

    def write(self, *, with_audio: bool = True) -> Path:
        end = {"state": "session_ended", "details": {"reason": "goodbye"}}
        last = {"timestamp": 1_772_403_744_000, "type": "connection_state", "data": end}
        lines = [json.dumps(event) + "\n" for event in (*self.events, last)]
        (self.directory / "user_simulator_events.jsonl").write_text("".join(lines), "utf-8")
        result = {
            "record_id": "1.1",
            "completed": True,
            "started_at": "2026-03-01T22:22:03",
            "ended_at": "2026-03-01T22:22:24",
            "duration_seconds": 20.0,
            "output_dir": "gone",
            "conversation_ended_reason": "goodbye",
        }
        (self.directory / "result.json").write_text(json.dumps(result), "utf-8")
        if with_audio:
            with WavWriter(self.directory / CLEAN_CALLER_AUDIO_FILE, 24_000) as file:
                file.append(voiced_noise(2, 24_000))
        return self.directory


@pytest.fixture
def adopted(tmp_path: Path) -> AdoptedCall:
    return AdoptedCall(tmp_path)


def numbered(*verdicts: dict[str, Any]) -> dict[str, Any]:
    return {"turns": [{"turn": turn, **FINE, **each} for turn, each in enumerate(verdicts)]}


async def test_an_adopted_callers_speech_is_rated_in_one_question_with_the_whole_recording(
    server: JudgeServer, judges: Judges, adopted: AdoptedCall
) -> None:
    server.default = numbered({}, {"transcript": "K 7 T Q 2"})
    result = await listen(judges, Record(id="1.1"), adopted.write())
    score = result.scores[USER_SPEECH_FIDELITY]
    assert score.details["per_turn_ratings"] == {"0": 3, "1": 3}
    assert score.version == judged_speech.judged_version()
    (request,) = server.requests
    turns = request.prompt.split("<turns>")[1].split("</turns>")[0].strip().splitlines()
    assert [json.loads(line) for line in turns] == [
        {"turn": 0, "text": "I, er"},
        {"turn": 1, "text": "K7TQ2."},
    ]
    assert sound_of(request).size == 2 * 16_000


async def test_a_wrong_entity_of_an_adopted_caller_fails(
    server: JudgeServer, judges: Judges, adopted: AdoptedCall
) -> None:
    server.default = numbered({}, {"transcript": "K 7 T Q 3"})
    result = await listen(judges, Record(id="1.1"), adopted.write())
    assert result.failed_metrics == (USER_SPEECH_FIDELITY,)
    reason = result.failure_details[USER_SPEECH_FIDELITY]
    assert reason.startswith("turn 1 rated 1: meant 'K7TQ2.', heard 'K 7 T Q 3'")


@pytest.mark.parametrize("verdicts", [[{}], [{}, {}, {}]])
async def test_an_answer_that_does_not_rate_every_turn_once_is_unusable(
    server: JudgeServer, judges: Judges, adopted: AdoptedCall, verdicts: list[dict[str, Any]]
) -> None:
    server.default = numbered(*verdicts)
    result = await listen(judges, Record(id="1.1"), adopted.write())
    assert result.errored_metrics == (USER_SPEECH_FIDELITY,)
    assert "but there are 2 turns" in result.failure_details[USER_SPEECH_FIDELITY]


@pytest.mark.parametrize("with_audio", [False, True])
async def test_a_recogniser_leaves_an_adopted_caller_alone(
    judges: Judges, adopted: AdoptedCall, with_audio: bool
) -> None:
    result = await read(judges, Record(id="1.1"), adopted.write(with_audio=with_audio))
    score = result.scores[USER_SPEECH_FIDELITY]
    assert score.skipped
    expected = "judged_by to audio_judge" if with_audio else "no audio in the adopted run"
    assert expected in score.details["reason"]


async def test_recordings_that_can_not_be_read_are_skipped_with_the_reason(
    server: JudgeServer, judges: Judges, adopted: AdoptedCall
) -> None:
    directory = adopted.write()
    (directory / CLEAN_CALLER_AUDIO_FILE).write_bytes(b"no audio at all")
    score = (await listen(judges, Record(id="1.1"), directory)).scores[USER_SPEECH_FIDELITY]
    assert score.skipped
    assert "there is nothing to listen to" in score.details["reason"]
    assert server.requests == []


async def test_the_decisions_and_facts_of_evas_record_are_in_the_brief(
    server: JudgeServer, judges: Judges, adopted: AdoptedCall
) -> None:
    server.default = NO_BREACH
    record = Record.model_validate(
        {
            "id": "1.1",
            "goal": GOAL,
            "user_goal": {
                "high_level_user_goal": GOAL,
                "decision_tree": {"must_have_criteria": ["A window seat"]},
                "information_required": {"Last name": "Müller"},
            },
            "ground_truth": {"expected_scenario_db": {"secret": "not for the judge"}},
        }
    )
    result = await read(judges, record, adopted.write())
    assert result.scores[USER_BEHAVIORAL_FIDELITY].score == 1.0
    (request,) = server.requests
    assert "- A window seat" in request.prompt
    assert "Last name: Müller" in request.prompt
    assert "not for the judge" not in request.prompt
    assert request.prompt.count(GOAL) == 1


async def test_a_script_in_the_record_is_not_held_against_an_adopted_caller(
    server: JudgeServer, judges: Judges, adopted: AdoptedCall, record: Record
) -> None:
    server.default = NO_BREACH
    with_goal = record.model_copy(update={"goal": GOAL})
    result = await read(judges, with_goal, adopted.write())
    assert result.scores[USER_BEHAVIORAL_FIDELITY].details["judged_by"] == "judge"


async def test_a_real_eva_conversation_is_read_with_its_record(
    server: JudgeServer, judges: Judges, eva_data: Path, tmp_path: Path
) -> None:
    server.default = NO_BREACH
    for name in ("elevenlabs_events.jsonl", "result.json", "transcript.jsonl"):
        (tmp_path / name).write_bytes((eva_data / "run/records/1.1.2" / name).read_bytes())
    (record,) = (
        each for each in load_records(eva_data / "airline_dataset.json") if each.id == "1.1.2"
    )
    result = await read(judges, record, tmp_path)
    assert result.scores[USER_BEHAVIORAL_FIDELITY].score == 1.0
    (request,) = server.requests
    assert "CALLER 1: The confirmation is Z K three F F W" in request.prompt
    assert "CALLER 2: Zulu. Kilo. Three." in request.prompt
    assert "must_have_criteria" in request.prompt
    assert request.prompt.count("CALLER 9: No, I do not want to add") == 1
