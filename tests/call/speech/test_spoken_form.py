from __future__ import annotations

import random

import pytest

from orchestrator_assets.call.speech.spoken_form import spoken_form


@pytest.mark.parametrize(
    "text",
    [
        "Hello, I'd like to book an appointment for a dental cleaning.",
        "Don't you think? No - that's all; thank you!",
        "Dr. Patel's X-ray, a follow-up and a FAQ",
        "May I come in March? I may.",
        "Guten Tag, 日本語",
        "",
    ],
)
def test_text_without_anything_special_is_unchanged(text: str) -> None:
    assert spoken_form(text) == text


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("My code is K7TQ2.", "My code is K, seven, T, Q, two."),
        ("k7tq2", "K, seven, T, Q, two"),
        ("(K7TQ2)", "(K, seven, T, Q, two)"),
        ("move M3RP6 to Friday", "move M, three, R, P, six, to Friday"),
        ("KT-4821", "K, T, four, eight, two, one"),
        ("gate B12", "gate B, one, two"),
        ("N-G-U-Y-E-N", "N, G, U, Y, E, N"),
        ("KTQXZ", "K, T, Q, X, Z"),
        ("COVID-19", "COVID-nineteen"),
        ("a 20-minute call", "a twenty-minute call"),
    ],
)
def test_codes_are_spelled_with_a_pause_after_each_character(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("48213", "four, eight, two, one, three"),
        ("order 0042", "order zero, zero, four, two"),
        ("0132.", "zero, one, three, two."),
        ("8 4 2 1 9", "eight, four, two, one, nine"),
        ("4111111111111111", ", ".join(["four one one one"] + ["one one one one"] * 3)),
    ],
)
def test_identifiers_are_said_digit_by_digit(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


LOCAL = "five five five, zero one one zero"


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("Call 573-555-0110.", f"Call five seven three, {LOCAL}."),
        ("(573) 555-0110", f"five seven three, {LOCAL}"),
        ("573.555.0110", f"five seven three, {LOCAL}"),
        ("5735550110", f"five seven three, {LOCAL}"),
        ("+1 573 555 0110", f"plus one, five seven three, {LOCAL}"),
        ("1-573-555-0110", f"one, five seven three, {LOCAL}"),
        ("555-0110", LOCAL),
    ],
)
def test_phone_numbers_are_said_in_groups(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("2026-03-25", "March twenty-fifth, twenty twenty-six"),
        ("3/25/2026", "March twenty-fifth, twenty twenty-six"),
        ("03/25", "March twenty-fifth"),
        ("March 25", "March twenty-fifth"),
        ("March 25th, 2026.", "March twenty-fifth, twenty twenty-six."),
        ("on Mar. 5 at noon", "on March fifth at noon"),
        ("the 14th of May", "the fourteenth of May"),
        ("25 March 2026", "twenty-fifth of March, twenty twenty-six"),
        ("on the 25th.", "on the twenty-fifth."),
        ("in 1984", "in nineteen eighty-four"),
        ("the 1990s", "the nineteen nineties"),
    ],
)
def test_dates_are_said_as_dates(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("10:30 a.m. is fine", "ten thirty AM is fine"),
        ("at 4 PM", "at four PM"),
        ("at 4pm", "at four PM"),
        ("at 4 p.m.", "at four PM."),
        ("at 4 p.m. Thanks.", "at four PM. Thanks."),
        ("at 4 p.m. Tuesday", "at four PM Tuesday"),
        ("10.30 a.m.?", "ten thirty AM?"),
        ("9:05", "nine oh five"),
        ("10:00", "ten o'clock"),
        ("14:00", "two PM"),
        ("09:15", "nine fifteen AM"),
        ("00:15", "twelve fifteen AM"),
        ("2-3 PM", "two to three PM"),
        ("9:30 AM - 11:45 AM", "nine thirty AM to eleven forty-five AM"),
    ],
)
def test_times_are_said_as_times(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("$120", "one hundred twenty dollars"),
        ("$45.50.", "forty-five dollars and fifty cents."),
        ("$1", "one dollar"),
        ("$0.99", "ninety-nine cents"),
        ("$1,250.00", "one thousand two hundred fifty dollars"),
        ("$2.5 million", "two point five million dollars"),
        ("£3.01", "three pounds and one penny"),
        ("€20", "twenty euros"),
    ],
)
def test_money_is_said_with_its_unit_behind(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("I need 2 tickets", "I need two tickets"),
        ("120 people", "one hundred twenty people"),
        ("1,250 items", "one thousand two hundred fifty items"),
        ("4.5 stars", "four point five stars"),
        ("20% off", "twenty percent off"),
        ("10-15 minutes", "ten to fifteen minutes"),
        ("the 2nd", "the second"),
        ("#7", "number seven"),
        ("-5 degrees", "minus five degrees"),
        ("500mg", "five hundred milligrams"),
        ("version 1.2.3", "version one point two point three"),
        ("1, 2, 3.", "one, two, three."),
    ],
)
def test_quantities_are_said_as_numbers(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("jane.doe@example.com.", "jane dot doe at example dot com."),
        ("j_smith42@example.co.uk", "j underscore smith four two at example dot co dot uk"),
        ("see www.example.org", "see W W W dot example dot org"),
    ],
)
def test_addresses_are_said_sign_by_sign(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


def test_no_text_breaks_it_and_no_digit_is_left() -> None:
    generator = random.Random(0)
    alphabet = "0123456789" * 2 + "abKTQ  --..::,,/$%#@+_apmst()\u2013é½\n'"
    for _ in range(3000):
        text = "".join(generator.choices(alphabet, k=generator.randrange(1, 30)))
        assert not any(character.isdecimal() for character in spoken_form(text)), text


def test_what_is_in_spoken_form_stays_as_it_is() -> None:
    text = "Code K7TQ2 on March 25 at 10:30 a.m., $45.50 to 573-555-0110."
    assert spoken_form(spoken_form(text)) == spoken_form(text)
