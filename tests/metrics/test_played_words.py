from __future__ import annotations

import pytest

from orchestrator_assets.metrics.heard_speech import Cut
from orchestrator_assets.metrics.played_words import HeardWords, Played, played_words


def played(sent: list[str], *heard: tuple[str, Cut]) -> Played:
    return played_words(
        [text.split() for text in sent], [HeardWords(text.split(), cut) for text, cut in heard]
    )


@pytest.mark.parametrize("cut", [Cut.UTTERANCE, Cut.QUEUE])
def test_what_is_missing_at_a_cut_was_never_played(cut: Cut) -> None:
    assert played(["a b c d", "e f"], ("a b", cut), ("e f", Cut.NONE)).num_words == (2, 2)


def test_what_is_missing_elsewhere_was_lost() -> None:
    assert played(["a b c d", "e f"], ("a b", Cut.NONE), ("e f", Cut.NONE)).num_words == (4, 2)
    assert played(["a b c d"], ("a c d", Cut.UTTERANCE)).num_words == (4,)


def test_words_said_again_after_a_cut_are_taken_for_those_sent_again() -> None:
    sent = ["x y z", "y z"]
    assert played(sent, ("x", Cut.UTTERANCE), ("y z", Cut.NONE)).num_words == (1, 2)
    sent = ["i can offer you ten", "i can offer you ten"]
    heard = ("i can", Cut.UTTERANCE), ("i can offer you ten", Cut.NONE)
    assert played(sent, *heard).num_words == (2, 5)


def test_only_a_cut_of_the_queue_drops_what_waited_behind() -> None:
    sent = ["a b c", "d e", "f"]
    assert played(sent, ("a b", Cut.QUEUE), ("f", Cut.NONE)).num_words == (2, 0, 1)
    assert played(sent, ("a b", Cut.UTTERANCE), ("f", Cut.NONE)).num_words == (2, 2, 1)
    assert played(sent, ("a b c", Cut.UTTERANCE), ("f", Cut.NONE)).num_words == (3, 2, 1)


def test_a_sound_without_words_stands_for_one_utterance_that_was_stifled() -> None:
    sent = ["a b", "c", "d"]
    heard = ("a b", Cut.NONE), ("", Cut.UTTERANCE), ("d", Cut.NONE)
    assert played(sent, *heard).num_words == (2, 0, 1)
    assert sum(played(sent, ("a b", Cut.NONE), ("", Cut.UTTERANCE)).num_words) == 3
    assert played(sent, ("a b", Cut.NONE), ("", Cut.QUEUE)).num_words == (2, 0, 0)


def test_a_word_that_was_broken_off_need_not_be_right() -> None:
    assert played(["a b c d"], ("a b cx", Cut.UTTERANCE)) == Played((2,), frozenset({0}))
    assert played(["a b c d"], ("a b c", Cut.UTTERANCE)) == Played((3,), frozenset())
    assert played(["a b c d"], ("a b cx", Cut.NONE)) == Played((4,), frozenset())


def test_a_cut_does_not_turn_words_that_were_misheard_into_words_never_played() -> None:
    sent = ["a b c", "d e f g h i"]
    heard = ("a b", Cut.QUEUE), ("d x f y h z", Cut.NONE)
    assert played(sent, *heard).num_words == (2, 6)


def test_nothing_sent_and_nothing_heard() -> None:
    assert played([]) == Played((), frozenset())
    assert played([], ("a", Cut.NONE)).num_words == ()
    assert played(["a b", "", "c"]).num_words == (2, 0, 1)
