"""Which version of the code makes the validation scores, and whether a score is of that version.

A metric may be judged in more than one way within one evaluation: by rules where the caller had a
script, by a language model where it had none. Its version then names them all, parted by slashes,
and a score is of that version if it was made in one of these ways.
"""

from __future__ import annotations

from orchestrator_assets.evaluation import SpeechJudge, Validation
from orchestrator_assets.metrics.base import MetricScore
from orchestrator_assets.validation import (
    behavioral_fidelity,
    gate,
    judged_behavior,
    judged_speech,
    speech_fidelity,
)
from orchestrator_assets.validation.result import (
    GATE,
    UNJUDGED,
    USER_BEHAVIORAL_FIDELITY,
    USER_SPEECH_FIDELITY,
)

_OR = "/"


def validation_versions(validation: Validation, *, has_judge: bool) -> dict[str, str]:
    """Return the present version of every validation metric, that of its prompt included.

    `has_judge` says whether the evaluation names a language model that reads (`judge`).
    """
    behavior = [behavioral_fidelity.VERSION]
    if has_judge:
        behavior.append(judged_behavior.judged_version())
    listens = validation.user_speech_fidelity.judged_by is SpeechJudge.AUDIO_JUDGE
    speech = judged_speech.judged_version() if listens else speech_fidelity.VERSION
    return {
        GATE: gate.VERSION,
        USER_BEHAVIORAL_FIDELITY: _OR.join(behavior),
        USER_SPEECH_FIDELITY: speech,
    }


def recorded_version(
    name: str, score: MetricScore | None, validation: Validation, *, has_judge: bool
) -> str:
    """Return the version by which a score counts: the present one, unless another one made it.

    What was not judged since nothing can judge it needs no judging again. What was not judged for
    want of a judge does, once there is one.
    """
    current = validation_versions(validation, has_judge=has_judge)[name]
    if score is None or score.version is None or score.version in current.split(_OR):
        return current
    if score.version == UNJUDGED and not _is_judged(name, validation, has_judge=has_judge):
        return current
    return score.version


def _is_judged(name: str, validation: Validation, *, has_judge: bool) -> bool:
    if name == USER_BEHAVIORAL_FIDELITY:
        return has_judge
    return validation.user_speech_fidelity.judged_by is SpeechJudge.AUDIO_JUDGE
