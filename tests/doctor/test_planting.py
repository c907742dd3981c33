"""Which calls are placed: the same for the same seeds, and different enough from each other."""

from __future__ import annotations

from orchestrator_assets.demo.agent_call import AgentFault
from orchestrator_assets.doctor.planted_fault import PlantedFault
from orchestrator_assets.doctor.planting import PlantedCall, planted_calls
from orchestrator_assets.doctor.scripts import CODE_TURN

ALL = list(PlantedFault)
SEEDS = 10


def calls_of(fault: PlantedFault | None, seeds: int = SEEDS) -> list[PlantedCall]:
    return [call for call in planted_calls(seeds, ALL) if call.fault is fault]


def test_the_same_seeds_plant_the_same_calls() -> None:
    assert planted_calls(3, ALL) == planted_calls(3, ALL)
    assert planted_calls(2, ALL) == planted_calls(3, ALL)[: 2 * 2 * len(ALL)]


def test_there_are_as_many_clean_calls_as_faulty_ones() -> None:
    calls = planted_calls(3, ALL)
    assert len(calls) == 2 * 3 * len(ALL)
    assert [call.fault for call in calls].count(None) == 3 * len(ALL)
    for fault in ALL:
        assert [call.fault for call in calls].count(fault) == 3
    assert len({call.record.id for call in calls}) == len(calls)


def test_a_clean_call_has_no_fault_of_any_kind() -> None:
    for call in calls_of(None):
        assert call.record.caller_faults == ()
        assert set(call.record.agent_parameters) == {"think_ms"}


def test_every_other_call_has_one_fault() -> None:
    for fault in ALL:
        for call in calls_of(fault):
            of_agent = int("fault" in call.record.agent_parameters)
            slow = int(fault is PlantedFault.SLOW)
            assert len(call.record.caller_faults) + of_agent + slow == 1


def test_the_agent_is_told_to_think_for_the_time_that_is_the_truth() -> None:
    for call in planted_calls(SEEDS, ALL):
        assert int(call.record.agent_parameters["think_ms"]) / 1000 == call.think_seconds
        assert (call.think_seconds >= 1.2) is (call.fault is PlantedFault.SLOW)
    assert len({call.think_seconds for call in calls_of(PlantedFault.SLOW)}) > 2


def test_seeds_change_what_is_wanted_the_voice_and_the_turn() -> None:
    garbled = [call.record for call in calls_of(PlantedFault.GARBLED)]
    assert len({record.goal for record in garbled}) > 5
    assert len({record.caller_voice for record in garbled}) > 2
    assert len({record.caller_faults[0].turn for record in garbled}) > 2


def test_a_wrong_code_is_said_in_the_turn_with_the_code_and_nothing_else_in_it_changes() -> None:
    for call in calls_of(PlantedFault.WRONG_CODE):
        (fault,) = call.record.caller_faults
        meant = call.record.turns[CODE_TURN].say
        assert fault.turn == CODE_TURN
        assert fault.spoken is not None
        assert fault.spoken != meant
        assert fault.spoken.split()[:-1] == meant.split()[:-1]


def test_the_last_turn_is_never_the_one_that_is_skipped() -> None:
    # That would be hanging up early, which is another fault.
    for call in calls_of(PlantedFault.SKIPPED_TURN, 50):
        assert call.record.caller_faults[0].turn < len(call.record.turns) - 1


def test_only_who_wants_a_change_is_told_that_it_was_made() -> None:
    for call in calls_of(PlantedFault.CLAIMED_BOOKING, 50):
        assert call.record.expected_outcome is not None
        assert call.record.expected_outcome.changes
        assert AgentFault(call.record.agent_parameters["fault"])
