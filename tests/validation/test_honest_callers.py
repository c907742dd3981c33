"""The real scripted caller against agents that speak at random: nothing may be held against it.

What the agent says and when has no sense, which is the point: it falls silent, talks over the
caller, mumbles below what the caller hears, beeps, and goes on when its turn seemed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from recorded_calls import RecordedCall, voiced_noise

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw
from orchestrator_assets.call.callers.scripted import ScriptedCaller, prepare_turns
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.call.frames import frames_to_seconds
from orchestrator_assets.call.speech.base import Samples, Voice
from orchestrator_assets.evaluation import Caller
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.records import Record
from orchestrator_assets.validation.behavioral_fidelity import score_behavioral_fidelity
from orchestrator_assets.validation.evidence import read_evidence

LONGEST_CALL_SECONDS = 60
FRAME_SAMPLES = 160


class NoiseEngine:
    """Speaks 40 ms a character, in what a detector takes for speech."""

    def synthesize(self, text: str, voice: Voice, sample_rate_hz: int) -> Samples:
        return voiced_noise(0.04 * len(text), sample_rate_hz)


def random_agent(chance: np.random.Generator) -> Samples:
    """A minute of an agent at 8 kHz, as the wire's codec leaves it."""
    pieces: list[Samples] = []
    while sum(piece.size for piece in pieces) < LONGEST_CALL_SECONDS * 8_000:
        pause = chance.choice([0.1, 0.5, 0.76, 0.8, 0.9, 1.0, 2.0, 4.5, 9.0])
        pieces.append(np.zeros(round((pause + chance.uniform(0, 0.05)) * 8_000), dtype=np.int16))
        seconds = chance.choice([0.06, 0.15, 0.2, 0.5, 1.0, 2.5, 6.0])
        sound = voiced_noise(seconds, 8_000, seed=int(chance.integers(1_000)))
        match chance.choice(["speech", "speech", "softly", "mumble", "beep"]):
            case "softly":
                sound = (sound * 0.1).astype(np.int16)
            case "mumble":
                sound = (sound * 0.02).astype(np.int16)
            case "beep":
                tone = np.sin(2 * np.pi * 440 * np.arange(sound.size) / 8_000)
                sound = (tone * 8_000).astype(np.int16)
        pieces.append(sound)
    return decode_mulaw(encode_mulaw(np.concatenate(pieces)))


def random_record(chance: np.random.Generator) -> Record:
    turns = []
    for index in range(int(chance.integers(1, 5))):
        says = f"This is turn {index}" + str(chance.choice([".", "?", " with a longer text."]))
        barges_in = chance.random() < 0.4
        after = float(chance.choice([0.0, 0.3, 1.0, 3.0])) if barges_in else None
        turns.append({"say": says, "barge_in_after_seconds": after})
    return Record.model_validate({"id": "random", "turns": turns})


def random_settings(chance: np.random.Generator) -> Caller:
    return Caller(
        end_of_turn_seconds=float(chance.choice([0.5, 0.8, 1.2])),
        reply_delay_seconds=float(chance.choice([0.0, 0.2, 1.5])),
        speaks_first_after_seconds=float(chance.choice([1.0, 4.0])),
        inactivity_timeout_seconds=float(chance.choice([3.0, 8.0])),
        farewell_wait_seconds=float(chance.choice([1.0, 4.0])),
    )


def frames_of(track: Samples) -> Iterator[Samples]:
    yield from track[: track.size // FRAME_SAMPLES * FRAME_SAMPLES].reshape(-1, FRAME_SAMPLES)


def hold_call(
    directory: Path, record: Record, settings: Caller, agent: Samples
) -> tuple[Path, EndReason]:
    """Let the caller live through the agent's minute, and write down what a call would leave."""
    caller = ScriptedCaller(prepare_turns(record, 1, settings, NoiseEngine()), settings)
    clean, heard, turns = [], [], []
    reason = EndReason.TIME_LIMIT_EXCEEDED
    for frame in frames_of(agent):
        clean.append(caller.speak().clean)
        caller.hear(frame)
        heard.append(frame)
        turns += caller.take_finished_turns()
        if caller.hang_up_reason is not None:
            reason = caller.hang_up_reason
            break
    caller.cut_off()
    turns += caller.take_finished_turns()
    call = RecordedCall(directory, duration_seconds=frames_to_seconds(len(heard)))
    for turn in turns:
        start, end = frames_to_seconds(turn.start_frame), frames_to_seconds(turn.end_frame)
        call.caller_claims(turn.turn, turn.text, start, end, cut_off=turn.cut_off)
    call.clean, call.agent = np.concatenate(clean), np.concatenate(heard)
    return call.ends(reason), reason


def judged_call(directory: Path, seed: int) -> tuple[MetricScore, EndReason, int]:
    chance = np.random.default_rng(seed)
    record, settings = random_record(chance), random_settings(chance)
    directory, reason = hold_call(directory, record, settings, random_agent(chance))
    evidence = read_evidence(directory, settings)
    return score_behavioral_fidelity(record, evidence), reason, len(evidence.turns)


def test_nothing_is_held_against_a_caller_that_keeps_to_its_script(tmp_path: Path) -> None:
    reasons: Counter[EndReason] = Counter()
    turns = 0
    for seed in range(40):
        directory = tmp_path / str(seed)
        directory.mkdir()
        score, reason, said = judged_call(directory, seed)
        assert score.details["complaints"] == [], f"seed {seed}"
        reasons[reason] += 1
        turns += said
    # Otherwise there was nothing that could have been held against it.
    assert turns > 60
    assert reasons[EndReason.GOODBYE] > 5
    assert reasons[EndReason.INACTIVITY_TIMEOUT] > 5
