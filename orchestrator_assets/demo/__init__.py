"""The embedded evaluation: a small agent that really talks, and twelve records to call it with."""

from __future__ import annotations

from pathlib import Path

EVALUATION_FILE = Path(__file__).parent / "evaluation.yaml"
