"""The scripted caller against an agent of silence and recorded speech, frame by frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator_assets.call.callers.base import SpokenTurn
from orchestrator_assets.call.callers.scripted import PreparedTurn, ScriptedCaller, prepare_turns
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.speech.base import Samples, TextToSpeech, Voice
from orchestrator_assets.evaluation import Caller, CallerVoice
from orchestrator_assets.records import Record

SILENCE = np.zeros(160, dtype=np.int16)


@pytest.fixture(scope="module")
def agent_speech(text_to_speech: TextToSpeech) -> list[Samples]:
    """About two seconds of the agent's voice, in frames of 20 ms."""
    samples = text_to_speech.synthesize("Certainly, what is your code?", Voice(pitch=0.85), 8_000)
    count = len(samples) // 160
    return list(samples[: count * 160].reshape(count, 160))


def make_caller(text_to_speech: TextToSpeech, *, attempt: int = 1, **record: Any) -> ScriptedCaller:
    settings = Caller()
    turns = prepare_turns(
        Record.model_validate({"id": "a", **record}), attempt, settings, text_to_speech
    )
    return ScriptedCaller(turns, settings)


def play(caller: ScriptedCaller, frames: list[Samples]) -> list[SpokenTurn]:
    """Let the caller live through the agent's frames; stop when it hangs up."""
    turns = []
    for frame in frames:
        caller.speak()
        caller.hear(frame)
        turns += caller.take_finished_turns()
        if caller.hang_up_reason is not None:
            break
    return turns


def test_each_turn_waits_for_the_end_of_the_agents_and_the_last_is_followed_by_goodbye(
    text_to_speech: TextToSpeech, agent_speech: list[Samples]
) -> None:
    caller = make_caller(text_to_speech, turns=["Hello there.", "Goodbye."])
    exchange = agent_speech + [SILENCE] * 150
    turns = play(caller, exchange * 3)
    assert [turn.turn for turn in turns] == [0, 1]
    end_of_turn_frames, reply_delay_frames = 40, 10
    for index, turn in enumerate(turns):
        agent_ended = index * len(exchange) + len(agent_speech)
        waited = turn.start_frame - agent_ended
        assert abs(waited - (end_of_turn_frames + reply_delay_frames)) <= 5
    assert caller.hang_up_reason is EndReason.GOODBYE


def test_the_caller_speaks_first_when_nobody_greets_it(text_to_speech: TextToSpeech) -> None:
    turns = play(make_caller(text_to_speech, turns=["Hello?", "Bye."]), [SILENCE] * 400)
    assert turns[0].start_frame == 200
    assert len(turns) == 1


def test_an_agent_that_stays_silent_is_left_by_inactivity(text_to_speech: TextToSpeech) -> None:
    caller = make_caller(text_to_speech, turns=["Hello?", "Bye."])
    turns = play(caller, [SILENCE] * 2_000)
    assert caller.hang_up_reason is EndReason.INACTIVITY_TIMEOUT
    assert [turn.turn for turn in turns] == [0]


def test_after_the_last_turn_an_agent_that_says_nothing_is_told_goodbye(
    text_to_speech: TextToSpeech, agent_speech: list[Samples]
) -> None:
    caller = make_caller(text_to_speech, turns=["Goodbye."])
    play(caller, agent_speech + [SILENCE] * 600)
    assert caller.hang_up_reason is EndReason.GOODBYE


def test_a_last_question_is_given_the_whole_inactivity_timeout(
    text_to_speech: TextToSpeech, agent_speech: list[Samples]
) -> None:
    caller = make_caller(text_to_speech, turns=["Are you still there?"])
    play(caller, agent_speech + [SILENCE] * 600)
    assert caller.hang_up_reason is None
    play(caller, [SILENCE] * 600)
    assert caller.hang_up_reason is EndReason.INACTIVITY_TIMEOUT


def test_a_barge_in_starts_inside_the_agents_turn(
    text_to_speech: TextToSpeech, agent_speech: list[Samples]
) -> None:
    turn = {"say": "Listen to me.", "barge_in_after_seconds": 0.5}
    caller = make_caller(text_to_speech, turns=[turn])
    (spoken,) = play(caller, agent_speech + [SILENCE] * 200)
    assert abs(spoken.start_frame - 25) <= 8
    assert spoken.start_frame < len(agent_speech)


def test_the_tail_of_an_interrupted_agent_is_not_taken_for_its_answer(
    text_to_speech: TextToSpeech, agent_speech: list[Samples]
) -> None:
    turns = [{"say": "Stop.", "barge_in_after_seconds": 0.3}, "Goodbye."]
    caller = make_caller(text_to_speech, turns=turns)
    play(caller, agent_speech[:45] + [SILENCE] * 100)
    assert caller.hang_up_reason is None
    said = play(caller, agent_speech + [SILENCE] * 200)
    assert [turn.turn for turn in said] == [1]


def test_a_turn_that_is_going_on_when_the_call_ends_is_cut_off(
    text_to_speech: TextToSpeech, agent_speech: list[Samples]
) -> None:
    caller = make_caller(text_to_speech, turns=["I would like to tell you a long story."])
    assert play(caller, agent_speech + [SILENCE] * 80) == []
    caller.cut_off()
    (turn,) = caller.take_finished_turns()
    assert turn.cut_off
    assert turn.end_frame == len(agent_speech) + 80


def test_a_misspoken_turn_sounds_different_and_means_the_same(
    text_to_speech: TextToSpeech,
) -> None:
    record = Record.model_validate(
        {
            "id": "a",
            "turns": ["My code is 71652."],
            "caller_faults": [
                {"kind": "misspeak", "turn": 0, "spoken": "My goat is blue.", "attempts": [1]}
            ],
        }
    )

    def prepare(attempt: int) -> PreparedTurn:
        (turn,) = prepare_turns(record, attempt, Caller(), text_to_speech)
        return turn

    wrong, right = prepare(1), prepare(2)
    assert wrong.text == right.text == "My code is 71652."
    assert len(wrong.frames) < len(right.frames)


class OneToneEngine:
    """Says everything in the same tone, and remembers in which voice."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.voices: set[tuple[float, float]] = set()

    def synthesize(self, text: str, voice: Voice, sample_rate_hz: int) -> Samples:
        self.seeds.append(voice.seed)
        self.voices.add((voice.pitch, voice.speed))
        return np.full(sample_rate_hz // 50, 1_000, dtype=np.int16)


def test_every_attempt_is_spoken_with_a_seed_of_its_own() -> None:
    record = Record.model_validate({"id": "a", "turns": ["Hello."]})
    seeds = []
    for attempt in (1, 2, 3, 2):
        engine = OneToneEngine()
        prepare_turns(record, attempt, Caller(), engine)
        [seed] = set(engine.seeds)
        seeds.append(seed)

    assert len(set(seeds)) == 3
    assert seeds[3] == seeds[1]


def test_a_record_may_have_a_voice_of_its_own() -> None:
    settings = Caller(voice=CallerVoice(pitch=1.0, speed=0.9))
    own = {"pitch": 1.2, "speed": 1.1}
    for fields, voice in (({}, (1.0, 0.9)), ({"caller_voice": own}, (1.2, 1.1))):
        engine = OneToneEngine()
        record = Record.model_validate({"id": "a", "turns": ["Hello."], **fields})
        prepare_turns(record, 1, settings, engine)
        assert engine.voices == {voice}


def test_a_skipped_turn_is_left_out(text_to_speech: TextToSpeech) -> None:
    record = Record.model_validate(
        {"id": "a", "turns": ["One.", "Two."], "caller_faults": [{"kind": "skip_turn", "turn": 0}]}
    )
    assert [turn.turn for turn in prepare_turns(record, 1, Caller(), text_to_speech)] == [1]


def test_hanging_up_early_ends_the_call_where_the_turn_would_have_come(
    text_to_speech: TextToSpeech, agent_speech: list[Samples]
) -> None:
    fault = {"kind": "hang_up_early", "turn": 1}
    caller = make_caller(text_to_speech, turns=["Hello.", "Bye."], caller_faults=[fault])
    turns = play(caller, (agent_speech + [SILENCE] * 150) * 3)
    assert [turn.turn for turn in turns] == [0]
    assert caller.hang_up_reason is EndReason.GOODBYE


def test_clean_and_wire_frames_have_the_same_length_in_time(text_to_speech: TextToSpeech) -> None:
    record = Record.model_validate({"id": "a", "turns": ["Hello there."]})
    (turn,) = prepare_turns(record, 1, Caller(), text_to_speech)
    assert {(len(frame.clean), len(frame.wire)) for frame in turn.frames} == {(320, 160)}
