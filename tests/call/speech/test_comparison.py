from __future__ import annotations

import pytest

from orchestrator_assets.call.speech.comparison import (
    canonical,
    canonical_words,
    character_error_rate,
    missing_details,
)


@pytest.mark.parametrize(
    ("meant", "heard"),
    [
        ("K7TQ2", "k 7 T-Q 2."),
        ("My code is K7TQ2.", "My code is k, seven, t, q, to"),
        ("0132", "Zero one three two"),
        ("48213", "4-8-2-1-3"),
        ("573-555-0110", "(573) 555 0110"),
        ("573-555-0110.", "five seven three, five five five, oh one one oh"),
        ("10:30 a.m.", "ten thirty AM"),
        ("10:30 a.m.", "10.30 am"),
        ("14:00", "2 p.m."),
        ("10:00", "ten o'clock"),
        ("2026-03-25", "March 25th, 2026"),
        ("the 14th of May", "the fourteenth of May"),
        ("$45.50", "forty five dollars and fifty cents"),
        ("$120", "$120.00"),
        ("2 tickets", "two tickets"),
        ("Q2WN7", "Q to WN7"),
        ("Okay, I'd say so", "ok Id say so"),
        ("Dr. Müller", "Doctor Muller"),
        ("jane.doe@example.com", "Jane Doe at example.com"),
        ("1,250", "one thousand two hundred and fifty"),
    ],
)
def test_spellings_of_the_same_sound_are_equal(meant: str, heard: str) -> None:
    assert canonical(meant) == canonical(heard)
    assert character_error_rate(meant, heard) == 0.0
    assert missing_details(meant, heard) == ()


@pytest.mark.parametrize(
    ("meant", "heard"),
    [
        ("K7TQ2", "K7TQ3"),
        ("0132", "132"),
        ("4 PM", "4 AM"),
        ("Tuesday", "Thursday"),
        ("March 25", "March 26"),
        ("$120", "$130"),
    ],
)
def test_another_detail_is_never_equal(meant: str, heard: str) -> None:
    assert canonical(meant) != canonical(heard)
    assert missing_details(meant, heard)


def test_the_canonical_form_has_no_spaces_and_no_punctuation() -> None:
    assert canonical("My code is K7TQ2, at 4 p.m.!") == "mycodeisk7tq2at4pm"
    assert canonical("?!") == ""


def test_the_rate_is_edits_per_character_meant() -> None:
    assert character_error_rate("abcde", "abxde") == pytest.approx(0.2)
    assert character_error_rate("abcde", "") == 1.0
    assert character_error_rate("ab", "abcdef") == pytest.approx(2.0)


def test_where_nothing_was_meant_anything_heard_is_wrong() -> None:
    assert character_error_rate("", "") == 0.0
    assert character_error_rate("...", "You") == 1.0


def test_missing_details_are_named_as_they_were_written() -> None:
    meant = "Move K7TQ2 to Tuesday, March 25, at 10:30 a.m. for $45.50, please."
    heard = "Move k7tq3 to Thursday, March 25th, at 10:30 p.m. for $45.50."
    assert missing_details(meant, heard) == ("K7TQ2", "Tuesday", "10:30 a.m")


def test_free_text_has_no_details_to_miss() -> None:
    assert missing_details("I have a toothache, can I come in today?", "") == ()


def test_canonical_words_have_one_spelling_and_numbers_are_one_word() -> None:
    assert canonical_words("Mr. Müller pays two hundred five to K7TQ2.") == [
        *("mister", "muller", "pays", "205", "2", "k", "7", "t", "q", "2"),
    ]
    assert canonical_words("It is ten o'clock.") == ["it", "is", "10"]
    assert canonical_words("…") == []
