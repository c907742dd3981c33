"""An agent's utterances, as it sent them, beside what was heard of them, word by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

import jiwer

from orchestrator_assets.call.speech.comparison import canonical_words
from orchestrator_assets.metrics.heard_speech import HeardSpeech
from orchestrator_assets.metrics.played_words import HeardWords, played_words


class ErrorKind(StrEnum):
    """What became of words of the agent."""

    SUBSTITUTION = "substitution"
    DELETION = "deletion"
    INSERTION = "insertion"


_KINDS = {
    "equal": None,
    "substitute": ErrorKind.SUBSTITUTION,
    "delete": ErrorKind.DELETION,
    "insert": ErrorKind.INSERTION,
}


@dataclass(frozen=True, slots=True)
class WordError:
    """Words in a row that went wrong in one way, in the spelling that was compared.

    `heard_in` is the stretch of speech they were heard in; None where nothing was.
    """

    kind: ErrorKind
    meant: str
    heard: str
    heard_in: HeardSpeech | None


@dataclass(slots=True)
class SpokenUtterance:
    """An utterance: its text, how much of it was played, and what was heard of that."""

    text: str
    num_sent: int
    num_played: int
    stretches: list[HeardSpeech] = field(default_factory=list)
    errors: list[WordError] = field(default_factory=list)

    @property
    def heard(self) -> str:
        """What was heard in the stretches of speech that hold words of it."""
        return " ".join(stretch.text for stretch in self.stretches)

    @property
    def start_seconds(self) -> float | None:
        """When the first of these stretches begins; None where nothing was heard."""
        return self.stretches[0].start_seconds if self.stretches else None

    @property
    def end_seconds(self) -> float | None:
        """When the last of these stretches ends; None where nothing was heard."""
        return self.stretches[-1].end_seconds if self.stretches else None

    @property
    def played_text(self) -> str:
        """The part of the text that was played, a word that was broken off left out."""
        if self.num_played == self.num_sent:
            return self.text
        words = self.text.split()
        while words and len(compared_words(" ".join(words))) > self.num_played:
            words.pop()
        return " ".join(words)


class _Pair(NamedTuple):
    """A word that was sent and the word heard for it, either of which may be missing."""

    kind: ErrorKind | None
    utterance: int
    stretch: int | None
    meant: str = ""
    heard: str = ""


class SpokenText:
    """Compares what an agent sent to be said with what was heard of it."""

    def __init__(self, texts: Sequence[str], heard: Sequence[HeardSpeech]) -> None:
        sent = [compared_words(text) for text in texts]
        heard_words = [HeardWords(compared_words(each.text), each.cut) for each in heard]
        played = played_words(sent, heard_words)
        self.utterances = [
            SpokenUtterance(text, len(words), count)
            for text, words, count in zip(texts, sent, played.num_words, strict=True)
        ]
        meant = [
            (number, word)
            for number, (words, count) in enumerate(zip(sent, played.num_words, strict=True))
            for word in words[:count]
        ]
        understood = [
            (number, word)
            for number, (words, _) in enumerate(heard_words)
            for word in (words[:-1] if number in played.broken else words)
        ]
        self.num_sent = sum(map(len, sent))
        self.num_played = len(meant)
        pairs = _paired(meant, understood) if meant else []
        self._kinds = Counter(pair.kind for pair in pairs)
        self._assign(pairs, heard)

    @property
    def num_errors(self) -> int:
        """Substitutions, deletions and insertions."""
        return sum(self.num_errors_by_kind().values())

    def num_errors_by_kind(self) -> dict[str, int]:
        """Return how many there are of each kind, by `num_substitutions` and so on."""
        return {f"num_{kind}s": self._kinds[kind] for kind in ErrorKind}

    def _assign(self, pairs: Sequence[_Pair], heard: Sequence[HeardSpeech]) -> None:
        for (kind, number, place), run in groupby(pairs, key=lambda pair: pair[:3]):
            utterance = self.utterances[number]
            stretch = None if place is None else heard[place]
            if kind is not ErrorKind.INSERTION and stretch and stretch not in utterance.stretches:
                utterance.stretches.append(stretch)
            if kind is not None:
                words = list(run)
                meant = " ".join(pair.meant for pair in words).strip()
                said = " ".join(pair.heard for pair in words).strip()
                utterance.errors.append(WordError(kind, meant, said, stretch))


def compared_words(text: str) -> list[str]:
    """Return the words of a text as they are compared: a number is as many words as digits."""
    return [
        part for word in canonical_words(text) for part in (word if word.isdecimal() else (word,))
    ]


_Owned = tuple[int, str]


def _paired(meant: Sequence[_Owned], heard: Sequence[_Owned]) -> list[_Pair]:
    """Return the alignment with the fewest edits; `meant` has at least one word."""
    alignment = _aligned(meant, heard)
    respelled = _in_one_spelling(alignment, meant, heard)
    return list(_pairs(_aligned(meant, respelled), meant, respelled))


def _aligned(meant: Sequence[_Owned], heard: Sequence[_Owned]) -> list[jiwer.AlignmentChunk]:
    reference, hypothesis = (" ".join(word for _, word in words) for words in (meant, heard))
    return jiwer.process_words(reference, hypothesis).alignments[0]


def _in_one_spelling(
    alignment: Sequence[jiwer.AlignmentChunk], meant: Sequence[_Owned], heard: Sequence[_Owned]
) -> list[_Owned]:
    """Return what was heard, words joined or parted as in what was meant where that is all."""
    respelled: list[_Owned] = []
    for equal, run in groupby(alignment, key=lambda chunk: chunk.type == "equal"):
        chunks = list(run)
        sent = meant[chunks[0].ref_start_idx : chunks[-1].ref_end_idx]
        said = heard[chunks[0].hyp_start_idx : chunks[-1].hyp_end_idx]
        if not equal and said and _letters(sent) == _letters(said):
            respelled += [(said[0][0], word) for _, word in sent]
        else:
            respelled += said
    return respelled


def _letters(words: Sequence[_Owned]) -> str:
    return "".join(word for _, word in words)


def _pairs(
    alignment: Sequence[jiwer.AlignmentChunk], meant: Sequence[_Owned], heard: Sequence[_Owned]
) -> Iterator[_Pair]:
    utterance = meant[0][0]
    for chunk in alignment:
        kind = _KINDS[chunk.type]
        sent = meant[chunk.ref_start_idx : chunk.ref_end_idx]
        said = heard[chunk.hyp_start_idx : chunk.hyp_end_idx]
        if kind is ErrorKind.INSERTION:
            yield from (_Pair(kind, utterance, place, heard=word) for place, word in said)
        elif kind is ErrorKind.DELETION:
            yield from (_Pair(kind, number, None, meant=word) for number, word in sent)
        else:
            for (number, word), (place, other) in zip(sent, said, strict=True):
                yield _Pair(kind, number, place, word, other)
        utterance = sent[-1][0] if sent else utterance
