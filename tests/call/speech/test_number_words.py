from __future__ import annotations

import pytest

from orchestrator_assets.call.speech.number_words import (
    cardinal,
    digit_words,
    ordinal,
    with_digits,
    year_words,
)

NUMBERS = [*range(2200), 10_000, 48_213, 100_001, 502_000, 321_344_523_567, 999_999_999_999]


def read_back(words: str) -> list[str]:
    return with_digits(words.replace("-", " ").split())


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (42, "forty-two"),
        (120, "one hundred twenty"),
        (1205, "one thousand two hundred five"),
        (2_000_001, "two million one"),
    ],
)
def test_numbers_are_said_as_in_american_english(number: int, words: str) -> None:
    assert cardinal(number) == words


def test_a_number_without_a_name_is_said_digit_by_digit() -> None:
    assert cardinal(10**12) == "one " + " ".join(["zero"] * 12)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "first"),
        (12, "twelfth"),
        (20, "twentieth"),
        (25, "twenty-fifth"),
        (100, "one hundredth"),
        (103, "one hundred third"),
    ],
)
def test_ordinals_change_the_last_word_only(number: int, words: str) -> None:
    assert ordinal(number) == words


@pytest.mark.parametrize(
    ("year", "words"),
    [
        (1900, "nineteen hundred"),
        (1905, "nineteen oh five"),
        (1984, "nineteen eighty-four"),
        (2000, "two thousand"),
        (2005, "two thousand five"),
        (2026, "twenty twenty-six"),
    ],
)
def test_years_are_said_as_years(year: int, words: str) -> None:
    assert year_words(year) == words


def test_every_number_is_read_back_from_its_words() -> None:
    for number in NUMBERS:
        assert read_back(cardinal(number)) == [str(number)]
        assert read_back(ordinal(number)) == [str(number)]


def test_every_year_is_read_back_from_its_words() -> None:
    for year in range(1900, 2100):
        assert "".join(read_back(year_words(year))) == str(year)


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("one two zero", "1 2 0"),
        ("two hundred and five and six", "205 and 6"),
        ("twenty twenty six", "20 26"),
        ("nine oh five", "9 0 5"),
        ("oh no", "oh no"),
        ("the second one hundred", "the 2 100"),
        ("five and six", "5 and 6"),
        ("nothing to count", "nothing to count"),
        ("", ""),
    ],
)
def test_only_words_of_one_number_are_joined(words: str, read: str) -> None:
    assert with_digits(words.split()) == read.split()


def test_digits_keep_their_leading_zeros() -> None:
    assert digit_words("0042") == "zero zero four two"
    assert digit_words("07", ", ") == "zero, seven"
