"""Asks a language model for a verdict, and takes nothing but a usable one for an answer."""

from __future__ import annotations


class Judge:
    """A model behind an OpenAI-compatible endpoint."""
