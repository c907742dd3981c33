"""Voice-agent evaluations as Dagster assets.

`VoiceEvaluation` is the Dagster component. It is imported when it is first asked for: the core of
this package knows no Dagster, and its command line starts without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator_assets.dagster_assets.component import VoiceEvaluation

__all__ = ["VoiceEvaluation"]


def __getattr__(name: str) -> Any:
    if name == "VoiceEvaluation":
        from orchestrator_assets.dagster_assets.component import VoiceEvaluation  # noqa: PLC0415

        return VoiceEvaluation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
