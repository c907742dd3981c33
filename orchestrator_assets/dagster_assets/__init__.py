"""Evaluations as Dagster assets."""

from __future__ import annotations

from orchestrator_assets.dagster_assets.evaluation_definitions import build_evaluation_definitions

__all__ = ["build_evaluation_definitions"]
