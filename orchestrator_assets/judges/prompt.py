"""What a judge is asked: packaged Markdown files with placeholders, versioned and fingerprinted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Self

from pydantic import BaseModel

_HASH_DIGITS = 12
_VERSIONED = re.compile(r"\A---\nversion: *(?P<version>\S+)\n---\n+(?P<text>.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question with `$placeholders`; a dollar sign of its own is written `$$`."""

    name: str
    version: str
    text: str

    @classmethod
    def load(cls, package: str, name: str) -> Self:
        """Return the packaged prompt `<package>/prompts/<name>.md`.

        The file begins with its version between two lines of dashes, and the text follows:

            ---
            version: 2
            ---
            Listen to the caller …

        Raises FileNotFoundError if it is not there, ValueError if it does not begin so.
        """
        content = files(package).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
        parts = _VERSIONED.match(content)
        if parts is None:
            raise ValueError(
                f"{package}/prompts/{name}.md: must begin with its version, in three lines: "
                "`---`, `version: 1`, `---`"
            )
        return cls(name, parts["version"], parts["text"].strip())

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with the values in place of its placeholders.

        Values are put in as they are: what looks like a placeholder in one of them is none. Raises
        ValueError for a placeholder without a value, and for a `$` that begins none.
        """
        template = Template(self.text)
        missing = [name for name in template.get_identifiers() if name not in values]
        if missing:
            raise ValueError(f"prompt {self.name!r}: there is no value for {', '.join(missing)}")
        try:
            return template.substitute(values)
        except ValueError as error:
            raise ValueError(f"prompt {self.name!r}: {error}; write $$ for a dollar sign") from None

    def hash_for(self, answer: type[BaseModel]) -> str:
        """Return 12 hex digits that change with the text and with the schema of the answer."""
        schema = json.dumps(answer.model_json_schema(), sort_keys=True)
        content = json.dumps([self.text, schema])
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
