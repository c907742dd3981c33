from __future__ import annotations

import pytest

from orchestrator_assets.demo.clinic import ANYTHING_ELSE, FAREWELL, ClinicDesk


def talk(desk: ClinicDesk, *turns: str) -> list[str]:
    return [desk.reply(turn) for turn in turns]


def test_an_appointment_is_moved_only_after_the_callers_yes() -> None:
    desk = ClinicDesk()
    replies = talk(desk, "I would like to move my appointment.", "My code is K7TQ2.")
    assert replies == [
        "Certainly. What is your booking code?",
        "Your appointment is on Tuesday at nine. Which day and time would you like instead?",
    ]
    assert desk.reply("Thursday at ten, please.") == (
        "I can offer you Thursday at ten. Shall I book it?"
    )
    assert desk.state == desk.initial_state
    assert desk.reply("Yes, please.").endswith(ANYTHING_ELSE)
    assert desk.state["appointments"]["K7TQ2"]["day"] == "Thursday"
    assert desk.state["appointments"]["K7TQ2"]["time"] == "10:00"
    assert desk.initial_state["appointments"]["K7TQ2"]["day"] == "Tuesday"
    assert desk.reply("No, thank you. Goodbye.") == FAREWELL


@pytest.mark.parametrize(
    "heard", ["k 7 t q 2", "K seven T Q two", "it's K, 7, TQ2.", "my code is K7TQ3"]
)
def test_a_code_is_understood_however_it_was_written_down(heard: str) -> None:
    desk = ClinicDesk()
    talk(desk, "When is my appointment?")
    assert "Tuesday at nine" in desk.reply(heard)


def test_a_code_that_does_not_exist_is_asked_for_again() -> None:
    desk = ClinicDesk()
    replies = talk(desk, "Cancel my appointment.", "My code is X9X9X.", "Yes, please.")
    assert "can not find that code" in replies[1]
    assert "can not find that code" in replies[2]
    assert desk.state == desk.initial_state


def test_a_no_to_the_offered_time_asks_again() -> None:
    desk = ClinicDesk()
    replies = talk(
        desk,
        "I want to change my appointment.",
        "55329",
        "Monday at 9, please.",
        "No, that does not work for me.",
        "Then Friday at ten thirty.",
        "Yes.",
    )
    assert replies[3] == "Which day and time would you like instead?"
    assert replies[4] == "I can offer you Friday at ten thirty. Shall I book it?"
    assert desk.state["appointments"]["55329"]["time"] == "10:30"


@pytest.mark.parametrize(
    ("heard", "offered"),
    [
        ("Wednesday at to, please.", "Wednesday at two"),
        ("Wednesday at 10.30", "Wednesday at ten thirty"),
        ("On Friday at eleven fifteen.", "Friday at eleven fifteen"),
        ("Monday at 9.", "Monday at nine"),
    ],
)
def test_a_time_is_understood_however_it_was_written_down(heard: str, offered: str) -> None:
    desk = ClinicDesk()
    *_, reply = talk(desk, "I want to move my appointment.", "71652", heard)
    assert reply == f"I can offer you {offered}. Shall I book it?"


def test_a_desk_that_only_claims_to_act_changes_nothing() -> None:
    desk = ClinicDesk(claims_without_acting=True)
    replies = talk(desk, "Cancel my appointment.", "Code 71652.", "Yes, please.")
    assert "is cancelled" in replies[-1]
    assert desk.state == desk.initial_state
    assert [call["name"] for call in desk.tool_calls] == [
        "look_up_appointment",
        "cancel_appointment",
    ]


def test_words_that_say_nothing_get_the_choices() -> None:
    assert "Which would you like?" in ClinicDesk().reply("Um, hello?")


def test_the_tools_it_used_have_their_results_in_the_log() -> None:
    desk = ClinicDesk()
    talk(desk, "Move my appointment.", "K7TQ2", "Thursday at ten, please.", "Yes.")
    look_up, move = desk.tool_calls
    assert look_up["result"]["appointment"]["day"] == "Tuesday"
    assert move["arguments"] == {"code": "K7TQ2", "day": "Thursday", "time": "10:00"}
    assert move["result"] == {
        "status": "success",
        "appointment": {
            "patient": "Maria Novak",
            "day": "Thursday",
            "time": "10:00",
            "status": "booked",
        },
    }


def test_a_tool_that_was_only_claimed_to_be_used_has_no_result() -> None:
    desk = ClinicDesk(claims_without_acting=True)
    talk(desk, "Cancel my appointment.", "Code 71652.", "Yes, please.")
    assert ["result" in call for call in desk.tool_calls] == [True, False]
