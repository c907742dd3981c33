"""How far what was heard is from what was meant, whatever way either is written."""

from __future__ import annotations

import re
import unicodedata

import jiwer

from orchestrator_assets.call.speech.number_words import with_digits
from orchestrator_assets.call.speech.spoken_form import MONTHS, WEEKDAYS, spoken_form

_SAME_SPELLING = {
    "okay": "ok",
    "mr": "mister",
    "mrs": "missus",
    "dr": "doctor",
    "oclock": "",
    "dot": "",
}
_SAME_SOUND = {"to": "2", "too": "2", "for": "4"}
_REPLACED = _SAME_SPELLING | _SAME_SOUND
_DETAIL = re.compile(
    rf"\S*\d\S*(?: [ap]\.?m\b)?|\b(?:{'|'.join((*MONTHS, *WEEKDAYS))})\b", re.IGNORECASE
)


def canonical(text: str) -> str:
    """Return `text` in the form in which all its spellings are equal: "4 PM" and "four p.m.".

    Its canonical words without spaces, since where a recogniser puts spaces in a code means
    nothing.
    """
    return "".join(canonical_words(text))


def canonical_words(text: str) -> list[str]:
    """Return the words of `text` in one spelling, with a number as one word.

    The spoken form, with number words as digits, ordinals bare, lower case, and without accents
    and punctuation. Nobody hears "to" and "for" apart from 2 and 4, so they are equal too.
    """
    decomposed = unicodedata.normalize("NFKD", spoken_form(text))
    plain = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    words = re.findall(r"\w+", re.sub(r"['\u2019]", "", plain.lower()).replace("_", " "))
    replaced = (_REPLACED.get(word, word) for word in with_digits(words))
    return [word for word in replaced if word]


def character_error_rate(meant: str, heard: str) -> float:
    """Return the edit distance of the canonical forms per character of what was meant.

    0.0 where they are equal; above 1.0 where more was heard than was meant. Where nothing was
    meant, anything heard is 1.0.
    """
    reference, hypothesis = canonical(meant), canonical(heard)
    if not reference:
        return 1.0 if hypothesis else 0.0
    return float(jiwer.cer(reference, hypothesis))


def details_in(text: str) -> tuple[str, ...]:
    """Return the codes, numbers, dates, times and amounts of `text`, as written, in order."""
    return tuple(match[0].strip(".,;:!?") for match in _DETAIL.finditer(text))


def missing_details(meant: str, heard: str) -> tuple[str, ...]:
    """Return the codes, numbers, dates, times and amounts of `meant` that were not heard.

    In a long sentence one wrong digit is less than the errors a recogniser makes by itself; it is
    the error that matters most, so it is looked for by itself. As written in `meant`, in order.
    """
    hypothesis = canonical(heard)
    return tuple(detail for detail in details_in(meant) if canonical(detail) not in hypothesis)
