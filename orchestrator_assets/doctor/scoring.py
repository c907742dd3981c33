"""How good a detector is: its findings against what was planted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from orchestrator_assets.doctor.planted_fault import PlantedFault


class Judgement(StrEnum):
    """What a detector's answer about a call is worth."""

    TRUE_POSITIVE = "true_positive"
    FALSE_POSITIVE = "false_positive"
    FALSE_NEGATIVE = "false_negative"
    TRUE_NEGATIVE = "true_negative"

    @property
    def is_right(self) -> bool:
        """Whether it said what is true."""
        return self in (Judgement.TRUE_POSITIVE, Judgement.TRUE_NEGATIVE)


def judge(fault: PlantedFault, planted: PlantedFault | None, *, found: bool) -> Judgement:
    """Return what it is worth that the detector of `fault` found it, or did not, in a call."""
    if fault is planted:
        return Judgement.TRUE_POSITIVE if found else Judgement.FALSE_NEGATIVE
    return Judgement.FALSE_POSITIVE if found else Judgement.TRUE_NEGATIVE


@dataclass(frozen=True, slots=True)
class DetectorScore:
    """How often a detector was right and wrong."""

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @property
    def planted(self) -> int:
        """In how many calls its fault was planted."""
        return self.true_positives + self.false_negatives

    @property
    def asked(self) -> int:
        """About how many calls it was asked."""
        return self.planted + self.false_positives + self.true_negatives

    @property
    def precision(self) -> float | None:
        """Share of its findings that are right; None where it found nothing."""
        found = self.true_positives + self.false_positives
        return self.true_positives / found if found else None

    @property
    def recall(self) -> float | None:
        """Share of the planted faults that it found; None where none was planted."""
        return self.true_positives / self.planted if self.planted else None


def count(judgements: Iterable[Judgement]) -> DetectorScore:
    """Return the score that these judgements make."""
    counted = list(judgements)
    return DetectorScore(**{f"{each.value}s": counted.count(each) for each in Judgement})
