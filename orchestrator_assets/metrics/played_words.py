"""Which of the words an agent sent were played, given the words that were heard.

The two are aligned as for a word error rate, by the fewest edits. Where the agent's speech was cut
off, words that are missing there were not lost but dropped: of all alignments with the fewest
edits, the one is taken that puts the most missing words at such places. The last word before a cut
may have been broken off, and need not be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.metrics.heard_speech import Cut

_Costs: TypeAlias = NDArray[np.signedinteger[Any]]
"""The cost of what was heard so far, by how many of the words sent it accounts for."""

_EDIT = 1_000_000
# So little less than an edit that no number of words makes up for one.
_DROPPED = _EDIT - 1


class HeardWords(NamedTuple):
    """The words of a stretch of speech, and how it ended."""

    words: Sequence[str]
    cut: Cut


@dataclass(frozen=True, slots=True)
class Played:
    """How many words of each utterance were played, and which stretches end in a broken word."""

    num_words: tuple[int, ...]
    broken: frozenset[int]


def played_words(utterances: Sequence[Sequence[str]], heard: Sequence[HeardWords]) -> Played:
    """Return what was played of each utterance: the first words of it."""
    sent = np.array([word for words in utterances for word in words], dtype=np.str_)
    bounds = np.cumsum([0, *map(len, utterances)]).tolist()
    spans = list(pairwise(bounds))
    steps: list[_HeardWord | _CutOff] = []
    costs: _Costs = np.arange(sent.size + 1, dtype=np.int64) * _EDIT
    for number, (words, cut) in enumerate(heard):
        for index, word in enumerate(words):
            may_be_broken = cut is not Cut.NONE and index == len(words) - 1
            steps.append(word_step := _HeardWord(costs, sent != word, number, may_be_broken))
            costs = word_step.after
        if cut is not Cut.NONE:
            last_word = word_step if words else None
            steps.append(cut_step := _CutOff(costs, last_word, spans, cut))
            costs = cut_step.after
    return _traced_back(steps, spans)


def _traced_back(steps: Sequence[_HeardWord | _CutOff], spans: Sequence[tuple[int, int]]) -> Played:
    position = spans[-1][1] if spans else 0
    dropped: list[tuple[int, int]] = []
    broken = set()
    at_once = False
    for step in reversed(steps):
        while (origin := step.origin_of(position, at_once=at_once)) is None:
            position -= 1
        at_once = isinstance(step, _CutOff) and origin < position and step.follows_words
        if isinstance(step, _CutOff) and origin < position:
            dropped.append((origin, position))
        if isinstance(step, _HeardWord) and origin == position and step.may_be_broken:
            broken.add(step.stretch)
        position = origin
    return Played(tuple(_num_played(span, dropped) for span in spans), frozenset(broken))


def _num_played(span: tuple[int, int], dropped: Sequence[tuple[int, int]]) -> int:
    start, end = span
    return (
        min([max(first, start) for first, last in dropped if first < end <= last], default=end)
        - start
    )


class _HeardWord:
    """The step over a word that was heard."""

    def __init__(
        self, before: _Costs, mismatch: NDArray[np.bool_], stretch: int, may_be_broken: bool
    ) -> None:
        self.stretch = stretch
        self.may_be_broken = may_be_broken
        self._as_is = before[:-1] + mismatch * _EDIT
        self.at_once = before + (0 if may_be_broken else _EDIT)
        self._inserted = self.at_once.copy()
        np.minimum(self.at_once[1:], self._as_is, out=self.at_once[1:])
        self.after = _with_missing_words(self.at_once)

    def origin_of(self, position: int, *, at_once: bool) -> int | None:
        """Return how many words had been sent before; None if the last of them was not heard.

        `at_once`: that it was heard is known.
        """
        cost = (self.at_once if at_once else self.after)[position]
        if position and cost == self._as_is[position - 1]:
            return position - 1
        return position if cost == self._inserted[position] else None


class _CutOff:
    """The step over a cut, where the rest of an utterance, or of all that waited, was dropped.

    What was dropped follows the last word that was heard at once.
    """

    def __init__(
        self,
        before: _Costs,
        last_word: _HeardWord | None,
        spans: Sequence[tuple[int, int]],
        cut: Cut,
    ) -> None:
        self.follows_words = last_word is not None
        positions = np.arange(before.size, dtype=np.int64)
        # The cost to drop all words between two positions is a difference of these.
        relative = (before if last_word is None else last_word.at_once) - positions * _DROPPED
        self._sources: dict[int, int] = {}
        self._dropped = before.copy()
        for start, end in spans:
            first = 0 if cut is Cut.QUEUE else start + self.follows_words
            if first >= end:
                continue
            source = first + int(np.argmin(relative[first:end]))
            cost = relative[source] + end * _DROPPED
            if cost < self._dropped[end]:
                self._dropped[end] = cost
                self._sources[end] = source
        self.after = _with_missing_words(self._dropped)

    def origin_of(self, position: int, *, at_once: bool) -> int | None:
        """Return how many words had been sent before; None if the last of them was not heard."""
        cost = (self._dropped if at_once else self.after)[position]
        return self._sources.get(position, position) if cost == self._dropped[position] else None


def _with_missing_words(costs: _Costs) -> _Costs:
    """Return the costs where words that were sent may also be missing, for an edit each."""
    edits = np.arange(costs.size, dtype=np.int64) * _EDIT
    cheapest: _Costs = np.minimum.accumulate(costs - edits) + edits
    return cheapest
