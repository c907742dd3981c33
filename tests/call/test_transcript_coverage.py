"""Speech without words is found, whether a stretch has no row or a row too few words."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_assets.audio.samples import Samples, resample
from orchestrator_assets.audio.voice_activity import SpeechRegion, speech_regions
from orchestrator_assets.call.speech.base import SpeechToText, TextToSpeech, Voice
from orchestrator_assets.call.transcript_coverage import SpokenRow, coverage, syllables_in

RATE_HZ = 8_000
LONG_ANSWER = (
    "Your appointment is on Tuesday at nine, with doctor Miller in the main building by the "
    "harbour, and you should bring your insurance card, the letter of your general practitioner "
    "and a list of everything that you are taking at the moment. Please come ten minutes early."
)
ANSWERS = (
    "Certainly, what is your booking code?",
    LONG_ANSWER,
    "Is there anything else that I can do for you?",
    "Your booking code is K7TQ2, and our number is 555-0132.",
)


def voiced(row: SpokenRow) -> SpeechRegion:
    return SpeechRegion(row.start_seconds, row.end_seconds)


def rows_of(*texts_and_seconds: tuple[str, float]) -> list[SpokenRow]:
    """One row after the other, two seconds apart."""
    rows, at = [], 0.0
    for text, seconds in texts_and_seconds:
        rows.append(SpokenRow(text, at, at + seconds))
        at += seconds + 2
    return rows


@pytest.mark.parametrize(
    ("text", "syllables"),
    [
        ("Yes, please.", 2),
        ("My booking code is K7TQ2.", 11),
        ("people", 2),
        ("Später, bitte, Herr Müller!", 7),
        ("555-0132", 8),
        ("我想改一下预约时间", 9),
        ("한국어", 3),
        ("столица", 3),
        ("…", 0),
        ("", 0),
    ],
)
def test_syllables_are_counted_as_said_in_any_script(text: str, syllables: int) -> None:
    assert syllables_in(text) == pytest.approx(syllables, abs=1)


@pytest.fixture(scope="module")
def recognised(
    text_to_speech: TextToSpeech, speech_to_text: SpeechToText
) -> tuple[list[SpokenRow], list[SpeechRegion]]:
    """What a real recogniser makes of real speech, and where that is voiced."""
    gap = np.zeros(2 * RATE_HZ, np.int16)
    parts: list[Samples] = [gap]
    rows, at = [], 2.0
    for text in ANSWERS:
        said = text_to_speech.synthesize(text, Voice(), RATE_HZ)
        heard = speech_to_text.transcribe(resample(said, RATE_HZ, speech_to_text.sample_rate_hz))
        rows.append(SpokenRow(heard, at, at + said.size / RATE_HZ))
        at += said.size / RATE_HZ + 2
        parts += [said, gap]
    return rows, speech_regions(np.concatenate(parts), merge_gap_seconds=0)


def test_what_a_recogniser_hears_covers_real_speech(
    recognised: tuple[list[SpokenRow], list[SpeechRegion]],
) -> None:
    covered = coverage(*recognised)

    assert (covered.untold, covered.thin) == ((), ())
    assert covered.pace is not None
    assert 3.5 < covered.pace < 5.5


def test_five_seconds_dropped_in_the_middle_are_found(
    recognised: tuple[list[SpokenRow], list[SpeechRegion]],
) -> None:
    rows, speech = recognised
    long = rows[1]
    words = long.text.split()
    seconds = long.end_seconds - long.start_seconds
    assert seconds > 10
    dropped = round(len(words) * 5 / seconds)
    first = (len(words) - dropped) // 2
    rest = " ".join(words[:first] + words[first + dropped :])
    thinned = [rows[0], SpokenRow(rest, long.start_seconds, long.end_seconds), *rows[2:]]

    covered = coverage(thinned, speech)

    (thin,) = covered.thin
    assert (thin.start_seconds, thin.end_seconds) == (long.start_seconds, long.end_seconds)
    assert thin.missing_seconds == pytest.approx(5, abs=1.5)
    assert thin.usual_pace is not None
    assert thin.pace < thin.usual_pace
    assert covered.untold == ()


@pytest.mark.parametrize("index", range(len(ANSWERS)))
def test_a_stretch_that_was_dropped_as_a_whole_is_found_where_it_is(
    recognised: tuple[list[SpokenRow], list[SpeechRegion]], index: int
) -> None:
    rows, speech = recognised
    gone = rows[index]

    covered = coverage([row for row in rows if row is not gone], speech)

    assert covered.untold[0].start_seconds == pytest.approx(gone.start_seconds, abs=0.15)
    assert covered.untold[-1].end_seconds == pytest.approx(gone.end_seconds, abs=0.15)
    assert covered.thin == ()


def test_speech_beyond_the_end_of_its_row_is_found() -> None:
    row = SpokenRow("one two three four", 0.0, 1.0)

    (untold,) = coverage([row], [SpeechRegion(0.0, 4.0)]).untold

    assert untold.start_seconds == pytest.approx(1.3)
    assert untold.end_seconds == 4.0


def test_edges_and_coughs_beside_a_row_are_not_missed_words() -> None:
    row = SpokenRow("one two three four", 1.0, 2.0)
    speech = [SpeechRegion(0.75, 2.25), SpeechRegion(5.0, 5.4)]

    assert coverage([row], speech).untold == ()


def test_a_row_that_nobody_could_say_so_slowly_lacks_words_even_alone() -> None:
    (row,) = rows_of(("Good morning.", 8.0))

    (thin,) = coverage([row], [voiced(row)]).thin

    assert thin.usual_pace is None


def test_an_even_pace_of_any_speaker_is_complete() -> None:
    sentence = "certainly what is your booking code"
    for seconds in (1.6, 2.5, 4.0):
        rows = rows_of(
            (sentence, seconds), (sentence, seconds), (" ".join([sentence] * 4), 4 * seconds)
        )
        covered = coverage(rows, [voiced(row) for row in rows])
        assert (covered.untold, covered.thin) == ((), ())


def test_rows_without_ends_are_judged_as_a_whole() -> None:
    speech = [SpeechRegion(1.0, 9.0), SpeechRegion(20.0, 28.0)]
    text = "certainly what is your booking code " * 5

    assert coverage([SpokenRow(text, 1.0, 1.0), SpokenRow(text, 20.0, 20.0)], speech).thin == ()
    (thin,) = coverage([SpokenRow("Hello.", 1.0, 1.0), SpokenRow("Bye.", 20.0, 20.0)], speech).thin
    assert thin.missing_seconds > 10


def test_a_side_that_never_speaks_needs_no_rows() -> None:
    covered = coverage([], [])
    assert (covered.untold, covered.thin, covered.pace) == ((), (), None)
    assert coverage([SpokenRow("said, but inaudible", 1.0, 2.0)], []).thin == ()
