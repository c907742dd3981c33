"""What is written, put as it is said, so that a speech engine cannot misread it.

Engines read "K7TQ2" as a word, "0132" as "one thirty-two" and a phone number before a full stop as
a sum of hundreds. Here codes become letters and digits with a pause after each, and everything else
that holds digits becomes words. English, with American dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator_assets.call.speech.number_words import (
    cardinal,
    digit_words,
    ordinal,
    year_words,
)

_PAUSE = ", "
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTH_OF_ABBREVIATION = {month[:3].lower(): month for month in MONTHS}
_ABBREVIATED_MONTH = r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
_MONTH = rf"({'|'.join(MONTHS)}|{_ABBREVIATED_MONTH})"
_MONTH_BEFORE_DAY = rf"({'|'.join(MONTHS)}|{_ABBREVIATED_MONTH}\.?)"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?(?![\w:%]|[.,-]\d)"
_CURRENCIES = {
    "$": ("dollar", "cent"),
    "€": ("euro", "cent"),
    "£": ("pound", "penny"),
}
_UNITS = {
    "mg": "milligrams",
    "kg": "kilograms",
    "ml": "milliliters",
    "mm": "millimeters",
    "cm": "centimeters",
    "km": "kilometers",
    "lb": "pounds",
    "lbs": "pounds",
    "min": "minutes",
    "hr": "hours",
    "hrs": "hours",
}
_CLOCK = r"\d{1,2}(?::\d{2})?"
_HALF = r"(?: ?[AaPp]\.?[Mm]\b\.?)"


def spoken_form(text: str) -> str:
    """Return `text` with codes, numbers, dates, times, money and e-mail addresses in words.

    "Code K7TQ2, 4 PM." is "Code K, seven, T, Q, two, four PM."; text without any is unchanged.
    """
    for pattern, say in _RULES:
        text = pattern.sub(say, text)
    return text


def _email(match: re.Match[str]) -> str:
    return f"{_address(match[1])} at {_address(match[2])}"


def _domain(match: re.Match[str]) -> str:
    return _address(match[0])


def _address(text: str) -> str:
    text = re.sub(r"\d+", lambda digits: f" {digit_words(digits[0])} ", text)
    for sign, word in ((".", "dot"), ("-", "dash"), ("_", "underscore"), ("+", "plus")):
        text = text.replace(sign, f" {word} ")
    return " ".join(text.replace("www ", "W W W ").split())


def _iso_date(match: re.Match[str]) -> str:
    return _date(int(match[2]), int(match[3]), match[1]) or match[0]


def _us_date(match: re.Match[str]) -> str:
    year = match[3]
    if year is not None and len(year) == 2:
        year = f"20{year}"
    return _date(int(match[1]), int(match[2]), year) or match[0].replace("/", " ")


def _date(month: int, day: int, year: str | None) -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    said = f"{MONTHS[month - 1]} {ordinal(day)}"
    return f"{said}, {year_words(int(year))}" if year else said


def _month_day(match: re.Match[str]) -> str:
    if not 1 <= int(match[2]) <= 31:
        return match[0]
    month = _month(match[1])
    year = f", {year_words(int(match[3]))}" if match[3] else ""
    return f"{month} {ordinal(int(match[2]))}{year}"


def _day_month(match: re.Match[str]) -> str:
    if not 1 <= int(match[2]) <= 31:
        return match[0]
    article = match[1] or ""
    year = f", {year_words(int(match[4]))}" if match[4] else ""
    return f"{article}{ordinal(int(match[2]))} of {_month(match[3])}{year}"


def _month(name: str) -> str:
    return _MONTH_OF_ABBREVIATION[name[:3].lower()]


def _time(match: re.Match[str]) -> str:
    hour, minute = int(match[1]), int(match[2] or 0)
    if hour > 24 or minute > 59:
        return match[0]
    half = f"{match[3].upper()}M" if match[3] else ""
    if not half and (hour > 12 or match[1].startswith("0")):
        half = "PM" if 12 <= hour < 24 else "AM"
    if half and (hour > 12 or hour == 0):
        hour = (hour - 1) % 12 + 1
    minutes = f" oh {cardinal(minute)}" if 0 < minute < 10 else f" {cardinal(minute)}"
    if minute == 0:
        minutes = "" if half else " o'clock"
    said = f"{cardinal(hour)}{minutes}{f' {half}' if half else ''}"
    return said + ("." if match[0].endswith(".") and _ends_sentence(match) else "")


def _ends_sentence(match: re.Match[str]) -> bool:
    """Tell whether the dot after "p.m." also ends its sentence."""
    following = re.match(r"[\"')\]]*\s+(\w+)", match.string[match.end() :])
    if following is None:
        return match.end() == len(match.string.rstrip("\"')] \n"))
    word = following[1]
    return word[0].isupper() and word not in MONTHS and word not in WEEKDAYS


def _money(match: re.Match[str]) -> str:
    unit, subunit = _CURRENCIES[match[1]]
    whole, hundredths = int(match[2].replace(",", "")), int(match[3] or 0)
    if match[4]:
        fraction = f" point {digit_words(match[3])}" if match[3] else ""
        return f"{cardinal(whole)}{fraction} {match[4]} {unit}s"
    if match[3] is not None and len(match[3]) != 2:
        return f"{cardinal(whole)} point {digit_words(match[3])} {unit}s"
    small = _counted(hundredths, subunit)
    if whole == 0 and hundredths:
        return small
    return _counted(whole, unit) + (f" and {small}" if hundredths else "")


def _counted(count: int, noun: str) -> str:
    plural = "pence" if noun == "penny" else f"{noun}s"
    return f"{cardinal(count)} {noun if count == 1 else plural}"


def _phone(match: re.Match[str]) -> str:
    plus = "plus " if match[0].startswith("+") else ""
    return plus + _PAUSE.join(digit_words(group) for group in re.findall(r"\d+", match[0]))


def _spaced_digits(match: re.Match[str]) -> str:
    return digit_words(match[0].replace(" ", ""), _PAUSE)


def _time_range(match: re.Match[str]) -> str:
    return f"{match[1]} to "


def _range(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[1]))} to {cardinal(int(match[2]))}"


def _spelling(match: re.Match[str]) -> str:
    return _PAUSE.join(match[0].replace("-", ""))


def _code(match: re.Match[str]) -> str:
    parts = match[0].split("-")
    # "COVID-19" and "20-minute" are words with a number; "KT-4821" is a code.
    if len(parts) > 1 and any(part.isalpha() and len(part) >= 4 for part in parts):
        return "-".join(_plain_number(part) if part.isdecimal() else part for part in parts)
    said = _PAUSE.join(
        digit_words(character) if character.isdecimal() else character.upper()
        for character in match[0]
        if character != "-"
    )
    # "P6 to Friday" would run into "P, six to Friday".
    runs_on = len(match[0]) >= 4 and re.match(r" \w", match.string[match.end() :])
    return f"{said}," if runs_on else said


def _version(match: re.Match[str]) -> str:
    return " point ".join(cardinal(int(part)) for part in match[0].split("."))


def _measure(match: re.Match[str]) -> str:
    unit = _UNITS[match[2]]
    return f"{match[1]} {unit.removesuffix('s') if match[1] == '1' else unit}"


def _decade(match: re.Match[str]) -> str:
    said = year_words(int(match[1])) if len(match[1]) == 4 else cardinal(int(match[1]))
    return f"{said[:-1]}ies" if said.endswith("y") else f"{said}s"


def _ordinal(match: re.Match[str]) -> str:
    return ordinal(int(match[1].replace(",", "")))


def _number(match: re.Match[str]) -> str:
    sign = "minus " if match[1] else ""
    label = "number " if match[2] else ""
    whole = match[3].replace(",", "")
    percent = " percent" if match[5] else ""
    if match[4]:
        said = f"{cardinal(int(whole))} point {digit_words(match[4])}"
    elif "," in match[3]:
        said = cardinal(int(whole))
    else:
        said = _plain_number(whole)
    return f"{label}{sign}{said}{percent}"


def _left_over(match: re.Match[str]) -> str:
    return f"{' point ' if match[1] else ''}{digit_words(match[2])}"


def _plain_number(digits: str) -> str:
    """Say a quantity or a year as a number, an identifier digit by digit."""
    if len(digits) == 4 and digits[:2] in ("19", "20"):
        return year_words(int(digits))
    if len(digits) <= 3 and (digits == "0" or not digits.startswith("0")):
        return cardinal(int(digits))
    return _PAUSE.join(digit_words(group) for group in _groups(digits))


def _groups(digits: str) -> list[str]:
    """Cut a long digit string where one draws breath: phone numbers 3-3-4, others by fours."""
    if len(digits) <= 5:
        return list(digits)
    if len(digits) == 10:
        return [digits[:3], digits[3:6], digits[6:]]
    size = 4 if len(digits) % 4 == 0 else 3
    return [digits[start : start + size] for start in range(0, len(digits), size)]


_WHOLE = r"\d{1,3}(?:,\d{3}){1,3}|\d+"
# Every rule leaves words only, so what is more specific comes first and is not touched again.
_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\b([\w.+-]+)@([\w-]+(?:\.[\w-]+)+)"), _email),
    (re.compile(r"\b(?:[\w-]+\.)+(?:com|org|net|edu|gov|io)\b"), _domain),
    (re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b"), _iso_date),
    (re.compile(r"(?<![\w/])(\d{1,2})/(\d{1,2})(?:/(\d{4}|\d{2}))?(?![\w/])"), _us_date),
    (re.compile(rf"\b{_MONTH_BEFORE_DAY} {_DAY}(?:,? (\d{{4}})\b)?"), _month_day),
    (re.compile(rf"\b(the )?{_DAY} (?:of )?{_MONTH}(?:,? (\d{{4}})\b)?"), _day_month),
    (re.compile(rf"(?<![\w.-])({_CLOCK}{_HALF}?)\s?[-\u2013]\s?(?={_CLOCK}{_HALF})"), _time_range),
    (re.compile(rf"(?<![\w.-])({_CLOCK})\s?[-\u2013]\s?(?=\d{{1,2}}:\d\d)"), _time_range),
    (
        re.compile(r"(?<![\w:.,$])(\d{1,2})[:.](\d{2})\s?([ap])(?:m\b|\.\s?m\b\.?)", re.IGNORECASE),
        _time,
    ),
    (re.compile(r"(?<![\w:.,$])(\d{1,2})()\s?([ap])(?:m\b|\.\s?m\b\.?)", re.IGNORECASE), _time),
    (re.compile(r"(?<![\w:.,$])(\d{1,2}):(\d{2})()(?![\w:])"), _time),
    (
        re.compile(rf"([$€£])({_WHOLE})(?:\.(\d+))?(?: (thousand|million|billion)\b)?(?![\w,]*\d)"),
        _money,
    ),
    (
        re.compile(
            r"(?<![\w.-])\+?(?:\d{1,3}[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"
        ),
        _phone,
    ),
    (re.compile(r"(?<![\w.-])\d{1,2}(?: \d){2,}(?![\w-])"), _spaced_digits),
    (re.compile(r"(?<![\w.-])(\d{1,2})\s?[-\u2013]\s?(\d{1,2})(?![\w-])"), _range),
    (re.compile(r"(?<![\w.-])\d+(?:-\d+)+(?![\w-])"), _phone),
    (re.compile(r"(?<![\w-])[A-Z](?:-[A-Z])+(?![\w-])"), _spelling),
    (re.compile(r"(?<![\w-])[B-DF-HJ-NP-TV-XZ]{5,}(?![\w-])"), _spelling),
    (re.compile(rf"(?<![\w-])(\d+(?:\.\d+)?)({'|'.join(_UNITS)})\b"), _measure),
    (re.compile(r"(?<![\w-])(\d{3}0|\d0)s\b"), _decade),
    (
        re.compile(
            r"(?<![\w-])(?!\d+(?:st|nd|rd|th)\b)(?=[\w-]*[A-Za-z])(?=[\w-]*\d)"
            r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?![\w-])"
        ),
        _code,
    ),
    (re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){2,}(?![\w.]*\d)"), _version),
    (re.compile(r"\b(\d{1,3}(?:,\d{3})*)(?:st|nd|rd|th)\b"), _ordinal),
    (
        re.compile(
            rf"((?<![\w-])-(?=\d))?(#)?(?<![\d.])({_WHOLE})(?![\d]|,\d{{3}})(?:\.(\d+))?(%)?"
        ),
        _number,
    ),
    (re.compile(r"(\.)?(\d+)"), _left_over),
)
