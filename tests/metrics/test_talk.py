from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recorded_talks import AGENT_PITCH, CALLER_PITCH, recorded, said, talking, with_noise

from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.metrics.talk import Talk, talk_of
from orchestrator_assets.store.atomic import write_text

Spans = list[tuple[float, float]]


def talk(caller: Spans, agent: Spans, starts: list[float] | None = None) -> Talk:
    return talk_of(
        [SpeechRegion(*span) for span in caller],
        [SpeechRegion(*span) for span in agent],
        20.0,
        caller_turn_starts=starts or [],
    )


def spans(regions: tuple[SpeechRegion, ...]) -> Spans:
    return [(region.start_seconds, region.end_seconds) for region in regions]


def test_pauses_of_a_speaker_part_no_turns() -> None:
    found = talk([(1.0, 2.0), (2.7, 3.5)], [(5.0, 6.0), (6.6, 8.0)])
    assert spans(found.caller_turns) == [(1.0, 3.5)]
    assert spans(found.agent_turns) == [(5.0, 8.0)]
    assert spans(found.agent_stretches) == [(5.0, 6.0), (6.6, 8.0)]


@pytest.mark.parametrize("word_seconds", [0.2, 0.5, 0.6])
def test_a_word_inside_the_others_turn_is_a_back_channel(word_seconds: float) -> None:
    word = (3.0, 3.0 + word_seconds)
    of_agent = talk([(1.0, 6.0)], [word])
    assert (spans(of_agent.agent_turns), spans(of_agent.agent_backchannels)) == ([], [word])
    of_caller = talk([word], [(1.0, 6.0)])
    assert (spans(of_caller.caller_turns), spans(of_caller.caller_backchannels)) == ([], [word])


def test_a_word_while_the_other_is_silent_is_a_turn() -> None:
    assert spans(talk([(3.0, 3.4)], [(1.0, 2.0), (4.5, 6.0)]).caller_turns) == [(3.0, 3.4)]


def test_a_word_that_the_other_falls_silent_at_is_a_turn() -> None:
    assert spans(talk([(3.0, 3.5)], [(1.0, 3.3)]).caller_turns) == [(3.0, 3.5)]


def test_more_than_a_word_inside_the_others_turn_is_a_turn() -> None:
    assert spans(talk([(3.0, 3.8)], [(1.0, 6.0)]).caller_turns) == [(3.0, 3.8)]


def test_an_agent_that_falls_silent_for_the_caller_and_answers_at_once_has_two_turns() -> None:
    found = talk([(3.0, 3.9)], [(1.0, 3.5), (4.1, 6.0)])
    assert spans(found.agent_turns) == [(1.0, 3.5), (4.1, 6.0)]


def test_a_word_in_the_agents_pause_parts_no_turn() -> None:
    found = talk([(3.1, 3.3)], [(1.0, 3.0), (3.5, 6.0)])
    assert spans(found.agent_turns) == [(1.0, 6.0)]
    assert spans(found.caller_backchannels) == [(3.1, 3.3)]


def test_turns_that_are_known_to_begin_stay_apart() -> None:
    spoken = [(1.0, 2.0), (2.6, 3.5)]
    assert len(talk(spoken, [(2.4, 2.7)]).caller_turns) == 1
    assert len(talk(spoken, [(2.4, 2.7)], starts=[1.0, 2.59]).caller_turns) == 2


def test_turns_are_told_apart_by_the_callers_own_log(tmp_path: Path) -> None:
    assert len(talking(tmp_path, [(1.0, 2.0), (2.6, 3.5)], []).talk.caller_turns) == 1
    events = (
        '{"type": "user_speech", "data": {"start_seconds": 1.0}}\n'
        '{"type": "user_speech", "data": {"text": "of EVA, without a time"}}\n'
        '{"type": "user_speech", "data": {"start_seconds": 2.6}}\n'
    )
    write_text(tmp_path / "user_simulator_events.jsonl", events)
    found = talking(tmp_path, [(1.0, 2.0), (2.6, 3.5)], [])
    assert len(found.talk.caller_turns) == len(found.caller_speech) == 2


def test_a_damaged_log_of_the_caller_costs_no_measurement(tmp_path: Path) -> None:
    write_text(tmp_path / "user_simulator_events.jsonl", "{half a li")
    assert len(talking(tmp_path, [(1.0, 2.0)], []).talk.caller_turns) == 1


@pytest.mark.parametrize(
    ("gain", "noise_dbfs"),
    [
        pytest.param(1.0, None, id="as it is"),
        pytest.param(0.1, None, id="very quiet"),
        pytest.param(1.0, -60.0, id="with noise on the line"),
    ],
)
def test_two_voices_are_found_where_they_were_put(
    tmp_path: Path, gain: float, noise_dbfs: float | None
) -> None:
    texts = ("I want to change my flight.", CALLER_PITCH), ("Of course.", AGENT_PITCH)
    voices = [(said(*text) * gain).astype(np.int16) for text in texts]
    places = 8_123, 37_457
    tracks = []
    for sound, place in zip(voices, places, strict=True):
        track = np.zeros(80_000, dtype=np.int16)
        track[place : place + sound.size] = sound
        tracks.append(track if noise_dbfs is None else with_noise(track, noise_dbfs))
    found = recorded(tmp_path, *tracks).talk
    # Speech can be followed down to the noise only.
    softest = 0 if noise_dbfs is None else 100
    for sides, sound, place in zip(
        (found.caller_turns, found.agent_turns), voices, places, strict=True
    ):
        (turn,) = sides
        first, *_, last = place + np.flatnonzero(np.abs(sound) > softest)
        assert turn.start_seconds == pytest.approx(first / 8_000, abs=0.02)
        assert turn.end_seconds == pytest.approx(last / 8_000, abs=0.02)
