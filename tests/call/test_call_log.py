from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from orchestrator_assets.call.call_log import call_log

logger = logging.getLogger("orchestrator_assets.test")


async def test_concurrent_calls_log_to_their_own_files_from_tasks_and_threads(
    tmp_path: Path,
) -> None:
    async def call(name: str) -> None:
        with call_log(tmp_path / name):
            logger.info("%s begins", name)
            await asyncio.sleep(0)
            await asyncio.to_thread(logger.warning, "%s in a thread", name)

    await asyncio.gather(call("one"), call("two"))
    logger.info("outside of any call")
    for name, other in (("one", "two"), ("two", "one")):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert f"INFO orchestrator_assets.test: {name} begins" in text
        assert f"{name} in a thread" in text
        assert other not in text
        assert "outside" not in text
