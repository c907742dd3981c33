"""Holds a transcript against what can be heard: is there speech that no row tells of?

A recogniser that fails does so silently. It may leave out a stretch of speech as a whole, or drop
some seconds in the middle of one and give the words around them. The first shows where speech has
no row. The second shows in the pace: a speaker needs about the same time for a syllable all through
a call (synthesised voices within a tenth, over four seconds), so a row with far fewer syllables
than its voiced time has room for lacks words. Syllables are counted in the spoken form of the text:
"K7TQ2" is one word to read and five to say.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator_assets.audio.findings import Stretch
from orchestrator_assets.audio.voice_activity import SpeechRegion
from orchestrator_assets.call.speech.spoken_form import spoken_form

_ROW_MARGIN_SECONDS = 0.3
_JOINED_SECONDS = 0.3
_LEAST_UNCOVERED_SECONDS = 0.6
"""Of speech; less is a cough, or the edge of a row."""
_LEAST_MISSING_SECONDS = 2.5
_LEAST_MISSING_SHARE = 0.1
"""A pace differs by so much at times: a row of a minute may hide five seconds."""
_LEAST_COMPARED_SECONDS = 3.0
"""Of the speaker's other rows; from less, no pace can be told."""
_SLOWEST_PACE = 2.0
"""Syllables in a second of voice. Conversation has 4 to 6; slow dictation of codes 2.5."""
_LETTERS_IN_A_SYLLABLE = 2.5
_VOWELS = re.compile(r"[aeiouy]+")
_WORDS = re.compile(r"[^\W\d_]+")
_SYLLABIC_SCRIPTS = 0x3040
"""From here on, letters are syllables: Japanese, Chinese, Korean."""


@dataclass(frozen=True, slots=True)
class SpokenRow:
    """What a row of a transcript says, and from when to when, in seconds of the call."""

    text: str
    start_seconds: float
    end_seconds: float


@dataclass(frozen=True, slots=True)
class ThinRow(Stretch):
    """A row with too few words for its speech: about `missing_seconds` of it are not there."""

    pace: float
    usual_pace: float | None
    missing_seconds: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a transcript lacks of one side's speech.

    `pace` is in syllables a second of voice, over the whole call; None where there is too little
    speech.
    """

    untold: tuple[Stretch, ...]
    thin: tuple[ThinRow, ...]
    pace: float | None


def coverage(rows: Sequence[SpokenRow], voiced: Sequence[SpeechRegion]) -> Coverage:
    """Return what of the `voiced` seconds of one side its `rows` do not tell.

    Rows of a transcript that gives only their start are taken as one that spans the call: then only
    a pace that no speaker has is noticed.
    """
    if rows and any(row.end_seconds <= row.start_seconds for row in rows):
        rows = [SpokenRow(" ".join(row.text for row in rows), 0.0, math.inf)]
    total = sum(region.duration_seconds for region in voiced)
    syllables = sum(syllables_in(row.text) for row in rows)
    return Coverage(
        untold=tuple(_untold(rows, voiced)),
        thin=tuple(_thin(rows, voiced)),
        pace=syllables / total if total >= _LEAST_COMPARED_SECONDS else None,
    )


def syllables_in(text: str) -> int:
    """Return about how many syllables it takes to say `text`, in any script."""
    plain = unicodedata.normalize("NFKD", spoken_form(text).casefold())
    bare = "".join(sign for sign in plain if not unicodedata.combining(sign))
    # Put together again: a Korean syllable has come apart into its letters.
    words = _WORDS.findall(unicodedata.normalize("NFC", bare))
    return sum(_syllables_of(word) for word in words)


def _syllables_of(word: str) -> int:
    if len(word) == 1:
        return 3 if word == "w" else 1
    groups = len(_VOWELS.findall(word))
    if groups == 0 and not word.isascii():
        syllabic = sum(ord(letter) >= _SYLLABIC_SCRIPTS for letter in word)
        return syllabic or math.ceil(len(word) / _LETTERS_IN_A_SYLLABLE)
    # As in "please" and "nine", but not in "people".
    silent_e = groups > 1 and word.endswith("e") and not word.endswith("le")
    return max(1, groups - silent_e)


def _untold(rows: Sequence[SpokenRow], voiced: Sequence[SpeechRegion]) -> list[Stretch]:
    """Return the stretches of speech that lie outside of all rows."""
    left = [
        piece
        for region in voiced
        for piece in _outside(Stretch(region.start_seconds, region.end_seconds), rows)
    ]
    stretches: list[tuple[Stretch, float]] = []
    for piece in left:
        if stretches and piece.start_seconds - stretches[-1][0].end_seconds <= _JOINED_SECONDS:
            last, seconds = stretches.pop()
            joined = Stretch(last.start_seconds, piece.end_seconds)
            stretches.append((joined, seconds + piece.duration_seconds))
        else:
            stretches.append((piece, piece.duration_seconds))
    return [stretch for stretch, seconds in stretches if seconds >= _LEAST_UNCOVERED_SECONDS]


def _outside(piece: Stretch, rows: Sequence[SpokenRow]) -> list[Stretch]:
    pieces = [piece]
    for row in rows:
        start, end = row.start_seconds - _ROW_MARGIN_SECONDS, row.end_seconds + _ROW_MARGIN_SECONDS
        pieces = [
            rest
            for each in pieces
            for rest in (
                Stretch(each.start_seconds, min(each.end_seconds, start)),
                Stretch(max(each.start_seconds, end), each.end_seconds),
            )
            if rest.duration_seconds > 0
        ]
    return pieces


def _thin(rows: Sequence[SpokenRow], voiced: Sequence[SpeechRegion]) -> list[ThinRow]:
    seconds = [_voiced_seconds(row, voiced) for row in rows]
    syllables = [syllables_in(row.text) for row in rows]
    found = []
    for index, row in enumerate(rows):
        elsewhere = sum(seconds) - seconds[index]
        usual = (
            (sum(syllables) - syllables[index]) / elsewhere
            if elsewhere >= _LEAST_COMPARED_SECONDS
            else None
        )
        pace = syllables[index] / seconds[index] if seconds[index] > 0 else math.inf
        missing = seconds[index] - syllables[index] / max(usual or 0.0, _SLOWEST_PACE)
        least = max(_LEAST_MISSING_SECONDS, _LEAST_MISSING_SHARE * seconds[index])
        if pace < _SLOWEST_PACE and seconds[index] >= _LEAST_COMPARED_SECONDS:
            least = 0.0
        if missing >= least and missing > 0:
            found.append(ThinRow(row.start_seconds, row.end_seconds, pace, usual, missing))
    return found


def _voiced_seconds(row: SpokenRow, voiced: Sequence[SpeechRegion]) -> float:
    return sum(
        max(
            0.0,
            min(region.end_seconds, row.end_seconds) - max(region.start_seconds, row.start_seconds),
        )
        for region in voiced
    )
