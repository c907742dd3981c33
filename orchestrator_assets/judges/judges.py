"""The judges of an evaluation, made when somebody first asks for one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from orchestrator_assets.errors import JudgeError
from orchestrator_assets.judges.settings import JudgeSettings

if TYPE_CHECKING:
    from orchestrator_assets.judges.judge import Judge


class Judges:
    """The judge that reads and the judge that listens. They live in one event loop.

    Metrics share them, and with them their places and what is known of their endpoints.
    """

    def __init__(
        self,
        judge: JudgeSettings | None,
        audio_judge: JudgeSettings | None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Take models, addresses and keys from `environment` (os.environ) where settings don't."""
        self._settings = {"judge": judge, "audio_judge": audio_judge}
        self._environment = environment
        self._judges: dict[str, Judge] = {}
        self._making = asyncio.Lock()

    @property
    def reads(self) -> bool:
        """Whether the evaluation names a judge that reads."""
        return self._settings["judge"] is not None

    @property
    def listens(self) -> bool:
        """Whether the evaluation names a judge that listens."""
        return self._settings["audio_judge"] is not None

    async def text(self) -> Judge:
        """Return the judge that reads (`judge`). Raises JudgeError if it is not configured."""
        return await self._named("judge")

    async def audio(self) -> Judge:
        """Return the judge that listens (`audio_judge`). Raises JudgeError like `text`."""
        return await self._named("audio_judge")

    async def aclose(self) -> None:
        """Close the connections of those that were made."""
        judges, self._judges = list(self._judges.values()), {}
        for judge in judges:
            await judge.aclose()

    async def _named(self, name: str) -> Judge:
        async with self._making:
            if name not in self._judges:
                # The client takes a second to import.
                self._judges[name] = await asyncio.to_thread(self._make, name)
            return self._judges[name]

    def _make(self, name: str) -> Judge:
        from orchestrator_assets.judges.judge import Judge  # noqa: PLC0415 - see `_named`

        settings = self._settings[name]
        if settings is None:
            raise JudgeError(
                f"the evaluation has no `{name}`; write `{name}: {{}}` to take model and key from "
                "the environment, or say there which to take"
            )
        return Judge(settings, environment=self._environment, name=name)
