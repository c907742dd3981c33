"""The code location: the demo evaluation, and every evaluation of the working directory."""

from __future__ import annotations

import dagster as dg

from orchestrator_assets.dagster_assets.component import VoiceEvaluation
from orchestrator_assets.evaluation_files import load_evaluations


@dg.definitions
def definitions() -> dg.Definitions:
    """Return the definitions of all evaluations there are.

    Raises ConfigurationError if one of their files can't be used.
    """
    return dg.Definitions.merge(
        *(VoiceEvaluation(found.evaluation).definitions() for found in load_evaluations())
    )
