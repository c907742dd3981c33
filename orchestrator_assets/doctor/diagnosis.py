"""What the detectors made of the calls, held against what was planted in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from orchestrator_assets.attempts.outcomes import TaskOutcome
from orchestrator_assets.doctor.detectors import DETECTORS
from orchestrator_assets.doctor.latency import LatencyErrors, TurnLatency, turn_latencies
from orchestrator_assets.doctor.observation import Observation
from orchestrator_assets.doctor.planted_fault import PlantedFault
from orchestrator_assets.doctor.planting import PlantedCall
from orchestrator_assets.doctor.scoring import DetectorScore, Judgement, count, judge

LEAST_PRECISION = 0.95
LEAST_RECALL = 0.95
LEAST_CLEAN_ACCEPTED = 0.95
LARGEST_LATENCY_ERROR_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Answer:
    """What a detector said of a call, and what that is worth."""

    detector: PlantedFault
    call: PlantedCall
    evidence: str | None
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Examined:
    """A call that was placed, what the pipeline reported of it, and every detector's answer.

    `latencies` are of the turns the agent answered, where its latency is a truth to hold the metric
    against: in accepted calls with nothing wrong in them, or a slow agent.
    """

    call: PlantedCall
    observation: Observation
    answers: tuple[Answer, ...]
    latencies: tuple[TurnLatency, ...] = ()

    @property
    def misjudged(self) -> tuple[Answer, ...]:
        """The answers that are wrong."""
        return tuple(answer for answer in self.answers if not answer.judgement.is_right)

    @property
    def wrongly_rejected(self) -> bool:
        """Whether nothing is wrong with it, and it was not accepted all the same."""
        return self.call.fault is None and not self.observation.accepted


@dataclass(frozen=True)
class Diagnosis:
    """Every call that was examined, and what that makes of the detectors."""

    examined: tuple[Examined, ...]

    @cached_property
    def scores(self) -> Mapping[PlantedFault, DetectorScore]:
        """How good each detector is."""
        answers = [answer for each in self.examined for answer in each.answers]
        return {
            detector.fault: count(
                answer.judgement for answer in answers if answer.detector is detector.fault
            )
            for detector in DETECTORS
        }

    @cached_property
    def latency_errors(self) -> LatencyErrors:
        """How far off the measured latencies are."""
        return LatencyErrors(tuple(turn for each in self.examined for turn in each.latencies))

    @property
    def clean(self) -> int:
        """How many calls nothing was planted in."""
        return sum(each.call.fault is None for each in self.examined)

    @property
    def clean_accepted(self) -> int:
        """How many of those were accepted."""
        return self.clean - sum(each.wrongly_rejected for each in self.examined)

    @property
    def shortcomings(self) -> list[str]:
        """What is not good enough, in a line each; nothing where the evaluator can be trusted."""
        return [
            *self._weak_detectors(),
            *self._clean_shortcoming(),
            *self.latency_errors.shortcomings(LARGEST_LATENCY_ERROR_SECONDS),
        ]

    def _weak_detectors(self) -> Iterator[str]:
        for fault, score in self.scores.items():
            if score.precision is not None and score.precision < LEAST_PRECISION:
                yield f"{fault.value}: precision {score.precision:.2f}, below {LEAST_PRECISION}"
            if score.recall is not None and score.recall < LEAST_RECALL:
                yield f"{fault.value}: recall {score.recall:.2f}, below {LEAST_RECALL}"

    def _clean_shortcoming(self) -> Iterator[str]:
        if self.clean and self.clean_accepted / self.clean < LEAST_CLEAN_ACCEPTED:
            rejected = self.clean - self.clean_accepted
            yield f"{rejected} of {self.clean} calls with nothing wrong in them were not accepted"


def diagnose(calls: Iterable[PlantedCall], outcomes: Sequence[TaskOutcome]) -> Diagnosis:
    """Ask every detector about every call, and measure how far off the latencies are.

    Raises ConversationFileError where an accepted call's files can't be read.
    """
    by_id = {outcome.task.record.id: outcome for outcome in outcomes}
    return Diagnosis(tuple(_examined(call, Observation(by_id[call.record.id])) for call in calls))


def _examined(call: PlantedCall, observation: Observation) -> Examined:
    answers = []
    for detector in DETECTORS:
        evidence = detector.find(observation)
        judgement = judge(detector.fault, call.fault, found=evidence is not None)
        answers.append(Answer(detector.fault, call, evidence, judgement))
    return Examined(call, observation, tuple(answers), _latencies(call, observation))


def _latencies(call: PlantedCall, observation: Observation) -> tuple[TurnLatency, ...]:
    directory: Path | None = observation.directory
    measured = observation.score("response_latency")
    if call.fault not in (None, PlantedFault.SLOW) or not observation.accepted or directory is None:
        return ()
    return tuple(turn_latencies(directory, call.think_seconds, measured))
