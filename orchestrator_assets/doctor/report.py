"""A diagnosis as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator_assets.doctor.detectors import DETECTORS
from orchestrator_assets.doctor.diagnosis import (
    LARGEST_LATENCY_ERROR_SECONDS,
    LEAST_CLEAN_ACCEPTED,
    LEAST_PRECISION,
    LEAST_RECALL,
    Answer,
    Diagnosis,
    Examined,
)
from orchestrator_assets.doctor.latency import LatencyErrors


def diagnosis_as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as JSON can hold it, with every answer that is wrong."""
    return {
        "passed": not diagnosis.shortcomings,
        "shortcomings": diagnosis.shortcomings,
        "thresholds": {
            "precision": LEAST_PRECISION,
            "recall": LEAST_RECALL,
            "clean_accepted": LEAST_CLEAN_ACCEPTED,
            "latency_error_ms": LARGEST_LATENCY_ERROR_SECONDS * 1000,
        },
        "calls": len(diagnosis.examined),
        "clean_calls": diagnosis.clean,
        "clean_calls_accepted": diagnosis.clean_accepted,
        "detectors": _detectors(diagnosis),
        "latency": _latency(diagnosis.latency_errors),
        "misjudged": [
            _misjudged(each, answer) for each in diagnosis.examined for answer in each.misjudged
        ],
        "wrongly_rejected": [
            {"call": each.call.record.id, "settled": each.observation.summary}
            for each in diagnosis.examined
            if each.wrongly_rejected
        ],
    }


def _detectors(diagnosis: Diagnosis) -> Mapping[str, Any]:
    found = {}
    for detector in DETECTORS:
        score = diagnosis.scores[detector.fault]
        found[detector.fault.value] = {
            "reads": detector.reads,
            "asked": score.asked,
            "planted": score.planted,
            "true_positives": score.true_positives,
            "false_positives": score.false_positives,
            "false_negatives": score.false_negatives,
            "true_negatives": score.true_negatives,
            "precision": score.precision,
            "recall": score.recall,
        }
    return found


def _latency(errors: LatencyErrors) -> Mapping[str, Any]:
    return {
        "turns": len(errors.turns),
        "not_measured": errors.not_measured,
        "mean_error_ms": in_ms(errors.mean_seconds),
        "max_error_ms": in_ms(errors.max_seconds),
    }


def _misjudged(examined: Examined, answer: Answer) -> Mapping[str, Any]:
    call = examined.call
    return {
        "call": call.record.id,
        "planted": call.fault.value if call.fault is not None else None,
        "detector": answer.detector.value,
        "judgement": answer.judgement.value,
        "evidence": answer.evidence,
        "settled": examined.observation.summary,
        "directory": str(examined.observation.directory),
    }


def in_ms(seconds: float | None) -> float | None:
    """Return seconds in milliseconds, to a thousandth."""
    return None if seconds is None else round(seconds * 1000, 3)
