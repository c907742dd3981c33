"""Each detector finds its fault by its own evidence, and leaves what merely looks like it alone."""

from __future__ import annotations

import pytest
from observed_calls import accepted, rejected, score, turn

from orchestrator_assets.attempts.outcomes import Acceptance, Cause, Outcome, TaskOutcome
from orchestrator_assets.call.conversation import EndReason
from orchestrator_assets.doctor.detectors import DETECTORS, METRICS
from orchestrator_assets.doctor.observation import Observation
from orchestrator_assets.doctor.planted_fault import PlantedFault
from orchestrator_assets.metrics.registry import metric_names

SILENCE = {"turn": 1, "seconds": 8.0, "broken_by": "end_of_call"}
LATE_ANSWER = {"turn": 1, "seconds": 3.2, "broken_by": "agent"}
INTERRUPTION = {"turn": 1, "at_seconds": 8.5, "overlap_seconds": 1.4}

UNDONE = score("task_completion", 0.0)
NOT_ON_TIME = score("conversation_completed_on_time", 0.0, reason="the call ran into its limit")

CASES = {
    PlantedFault.WRONG_CODE: rejected(
        turns=[turn(heard="My code is K9TQ2.", error_rate=0.08, missing=("K7TQ2",))]
    ),
    PlantedFault.SKIPPED_TURN: rejected(complaints=[{"rule": "left_out", "reason": "turn 1"}]),
    PlantedFault.EARLY_HANG_UP: rejected(
        complaints=[{"rule": "hung_up_early", "reason": "before turn 1"}]
    ),
    PlantedFault.GARBLED: rejected(
        turns=[turn(heard="The city was familiar.", error_rate=1.9, missing=("K7TQ2",))]
    ),
    PlantedFault.TOO_QUIET: rejected(
        turns=[turn(level_dbfs=-67.0, faults=("too quiet",), heard="", error_rate=1.0)],
        complaints=[{"rule": "inaudible", "reason": "turn 1 is claimed, but silent"}],
    ),
    PlantedFault.CLIPPED: rejected(
        turns=[turn(clipped_share=0.4, faults=("clipped",), heard="Place", error_rate=0.7)]
    ),
    PlantedFault.DEAD_AIR: accepted(
        "a",
        score("dead_air", 0.5, silences=[SILENCE]),
        UNDONE,
        score("conversation_completed_on_time", 0.0, reason="the agent fell silent"),
        reason=EndReason.INACTIVITY_TIMEOUT,
    ),
    PlantedFault.TALKS_OVER: accepted(
        "a", score("agent_interruptions", 0.8, interruptions=[INTERRUPTION])
    ),
    PlantedFault.SLOW: accepted(
        "a", score("response_latency", 1.5), score("dead_air", 0.5, silences=[LATE_ANSWER])
    ),
    PlantedFault.DROPPED_SOCKET: rejected(
        outcome=Outcome.NOT_FINISHED, cause=Cause.TRANSPORT, reason=EndReason.TRANSPORT_ERROR
    ),
    PlantedFault.CLAIMED_BOOKING: accepted("a", UNDONE),
    PlantedFault.NEVER_STOPS: accepted(
        "a",
        NOT_ON_TIME,
        UNDONE,
        acceptance=Acceptance.TIME_LIMIT,
        reason=EndReason.TIME_LIMIT_EXCEEDED,
    ),
}


def found_in(outcome: TaskOutcome) -> set[PlantedFault]:
    return {each.fault for each in DETECTORS if each.find(Observation(outcome)) is not None}


def test_every_fault_has_one_detector() -> None:
    assert [detector.fault for detector in DETECTORS] == list(PlantedFault)
    assert set(METRICS) <= set(metric_names())


@pytest.mark.parametrize("fault", list(PlantedFault))
def test_a_fault_is_found_by_its_own_detector_and_by_no_other(fault: PlantedFault) -> None:
    assert found_in(CASES[fault]) == {fault}


def test_nothing_is_found_in_a_call_with_nothing_wrong() -> None:
    scores = [
        score("task_completion", 1.0),
        score("response_latency", 1.49),
        score("agent_interruptions", 1.0, interruptions=[]),
        score("dead_air", 1.0, silences=[]),
        score("conversation_completed_on_time", 1.0),
    ]
    assert found_in(accepted("a", *scores)) == set()


def test_a_small_slip_of_the_recogniser_that_costs_a_call_is_a_false_alarm_not_hidden() -> None:
    slip = rejected(turns=[turn(heard="I code is K7TQ2.", error_rate=0.09)])
    assert found_in(slip) == {PlantedFault.GARBLED}


def test_turns_that_are_rated_well_are_no_evidence() -> None:
    well = turn(heard="My codes is K7TQ2.", error_rate=0.04, missing=("K7TQ2",), rating=2)
    assert found_in(rejected(turns=[well])) == set()


def test_a_call_that_could_not_be_placed_shows_nothing() -> None:
    nothing = accepted()
    lost = TaskOutcome(nothing.task, None, (), 0, error="no directory could be made")
    assert found_in(lost) == set()
    assert Observation(lost).summary == "no directory could be made"


def test_a_score_that_errored_shows_nothing() -> None:
    errored = score("response_latency", 3.0).model_copy(update={"error": "no track"})
    assert found_in(accepted("a", errored)) == set()
