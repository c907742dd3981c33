"""Links to the files of a run directory: URLs where somebody serves them, else paths to copy."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import dagster as dg

from orchestrator_assets.evaluation import Evaluation


class FileLinks:
    """Links below a folder. Without a base URL they are paths: browsers open no `file://` links."""

    def __init__(self, root: Path | None = None, base_url: str | None = None) -> None:
        self._root = root
        self._base_url = None if base_url is None else base_url.rstrip("/")

    @classmethod
    def of(cls, evaluation: Evaluation) -> FileLinks:
        """Return the links to what an evaluation writes."""
        return cls(evaluation.output_dir, evaluation.dagster.files_url)

    def to(self, path: Path) -> dg.MetadataValue:
        """Return the link to a file or folder."""
        if self._base_url is None or self._root is None or not path.is_relative_to(self._root):
            return dg.MetadataValue.path(str(path))
        below = quote(path.relative_to(self._root).as_posix())
        return dg.MetadataValue.url(f"{self._base_url}/{below}")
