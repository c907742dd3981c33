"""English number words: from digits to words to be spoken, and back to compare what was heard."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = {1_000_000_000: "billion", 1_000_000: "million", 1_000: "thousand"}
_UNNAMED = 1000 * max(_SCALES)
_IRREGULAR_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def digit_words(digits: str, separator: str = " ") -> str:
    """Return every digit as its word: "042" is "zero four two"."""
    return separator.join(_UNITS[int(digit)] for digit in digits)


def cardinal(number: int) -> str:
    """Return a number in words: 1205 is "one thousand two hundred five".

    From 10^12 on, where nobody counts any more, digit by digit.
    """
    if number >= _UNNAMED:
        return digit_words(str(number))
    if number < 20:
        return _UNITS[number]
    if number < 100:
        tens, unit = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_UNITS[unit]}" if unit else "")
    if number < 1000:
        return _compound(number, 100, "hundred")
    scale = max(scale for scale in _SCALES if scale <= number)
    return _compound(number, scale, _SCALES[scale])


def _compound(number: int, scale: int, name: str) -> str:
    count, rest = divmod(number, scale)
    return f"{cardinal(count)} {name}" + (f" {cardinal(rest)}" if rest else "")


def ordinal(number: int) -> str:
    """Return the ordinal in words: 25 is "twenty-fifth"."""
    words = cardinal(number)
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    return words[:cut] + _ordinal_of(words[cut:])


def _ordinal_of(word: str) -> str:
    if word in _IRREGULAR_ORDINALS:
        return _IRREGULAR_ORDINALS[word]
    return f"{word[:-1]}ieth" if word.endswith("y") else f"{word}th"


def year_words(year: int) -> str:
    """Return a year of four digits as it is said: 2026 is "twenty twenty-six"."""
    century, rest = divmod(year, 100)
    if century % 10 == 0 and rest < 10:
        return cardinal(year)
    if rest == 0:
        return f"{cardinal(century)} hundred"
    return f"{cardinal(century)} {f'oh {_UNITS[rest]}' if rest < 10 else cardinal(rest)}"


_UNIT_VALUES = {word: value for value, word in enumerate(_UNITS)}
_TENS_VALUES = {word: 10 * value for value, word in enumerate(_TENS, start=2)}
_SCALE_VALUES = {name: scale for scale, name in _SCALES.items()}
_CARDINAL_OF_ORDINAL = {
    _ordinal_of(word): word for word in (*_UNITS, *_TENS, "hundred", *_SCALE_VALUES)
}
_ZEROS = {"oh", "o"}


def with_digits(words: Sequence[str]) -> list[str]:
    """Return lower-case `words` with every number in digits, ordinals bare.

    Words that make one number become one ("two hundred five" is "205"); otherwise each stands for
    itself ("twenty twenty six" is "20", "26"). An "oh" beside a number is a zero.
    """
    found: list[str] = []
    position = 0
    while position < len(words):
        number = _NumberReader(words, position)
        if number.read():
            found.append(str(number.value))
            position = number.position
            continue
        is_zero = words[position] in _ZEROS and _is_beside_number(words, position)
        found.append("0" if is_zero else words[position])
        position += 1
    return found


def _is_beside_number(words: Sequence[str], position: int) -> bool:
    beside = (*words[max(position - 1, 0) : position], *words[position + 1 : position + 2])
    return any(word.isdecimal() or _NumberReader([word], 0).read() for word in beside)


class _NumberReader:
    """Reads the longest number that begins at a position; an ordinal word ends it."""

    def __init__(self, words: Sequence[str], position: int) -> None:
        self.value = 0
        self.position = position
        self._words = words
        self._ended = False

    def read(self) -> bool:
        """Read `value` and advance `position` past it; return whether there was a number."""
        start = self.position
        ceiling = _UNNAMED
        while (group := self._below_thousand(may_follow_and=self.position > start)) is not None:
            scale = 1
            if (named := _SCALE_VALUES.get(self._next_word(), ceiling)) < ceiling:
                scale = named
                self._advance()
            self.value += group * scale
            ceiling = scale
            if scale == 1:
                break
        return self.position > start

    def _below_thousand(self, *, may_follow_and: bool) -> int | None:
        value = self._below_hundred(may_follow_and=may_follow_and)
        if value and self._next_word() == "hundred":
            self._advance()
            value = value * 100 + (self._below_hundred(may_follow_and=True) or 0)
        return value

    def _below_hundred(self, *, may_follow_and: bool) -> int | None:
        """Read "five", "fifty" or "fifty five"; inside a number, an "and" before it too."""
        joint = 1 if may_follow_and and self._next_word() == "and" else 0
        word = self._next_word(joint)
        if word in _UNIT_VALUES:
            self._advance(joint + 1)
            return _UNIT_VALUES[word]
        if word not in _TENS_VALUES:
            return None
        self._advance(joint + 1)
        unit = _UNIT_VALUES.get(self._next_word(), 0)
        if not 1 <= unit <= 9:
            return _TENS_VALUES[word]
        self._advance()
        return _TENS_VALUES[word] + unit

    def _next_word(self, offset: int = 0) -> str:
        """Return the word ahead as a cardinal; "" at the end, and once an ordinal has been read."""
        index = self.position + offset
        if self._ended or index >= len(self._words):
            return ""
        return _CARDINAL_OF_ORDINAL.get(self._words[index], self._words[index])

    def _advance(self, count: int = 1) -> None:
        self.position += count
        self._ended = self._words[self.position - 1] in _CARDINAL_OF_ORDINAL
