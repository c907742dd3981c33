"""The reversible encoding that turns any record id into a partition key and a path.

Dagster checks nothing of a dynamic partition key, and its UI, its range syntax and the file system
each choke on other characters. So ids are encoded once, and both the key and the directory name
are the encoded id:

- ASCII letters and digits, and after the first character also `_`, `.` and `-`, stand for
  themselves; every other byte of the UTF-8 text becomes `@` and two upper-case hex digits;
- the second dot of `..`, and the underscore of an ending that names an archive or a trial
  (`_failed_attempt_3`), are encoded too;
- an id whose first byte is encoded starts with the marker `x@`, since a key must start with a
  letter or digit; the marker is unambiguous because `@` is otherwise followed by two hex digits;
- an id whose encoding is longer than 100 characters keeps a readable head and ends in `@@` and a
  hash. It is the one form that can't be decoded; the full id stands in every file of the task.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

MAX_ENCODED_LENGTH = 100
_HASH_DIGITS = 20
_LEADING_MARKER = "x@"
_HASH_MARKER = "@@"
# Directory-name endings by which archives and trials are told from records, EVA's included.
_RESERVED_ENDING = re.compile(r"_(?=(?:failed_attempt|attempt|trial|extra|unvalidated)_\d+\Z)")
_ESCAPE = re.compile(r"@([0-9A-F]{2})")


@lru_cache(maxsize=65_536)
def encode_record_id(record_id: str) -> str:
    """Return `record_id` as a partition key that is also a safe directory name.

    Raises ValueError for an empty id, and for one that is not valid Unicode (a lone surrogate).
    """
    if not record_id:
        raise ValueError("a record id must not be empty")
    try:
        record_id.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"record id {record_id!r} is not valid Unicode") from error
    encoded = "".join(_encode_character(record_id, index) for index in range(len(record_id)))
    encoded = _RESERVED_ENDING.sub("@5F", encoded)
    if encoded.startswith("@"):
        encoded = _LEADING_MARKER + encoded
    return encoded if len(encoded) <= MAX_ENCODED_LENGTH else _shorten(encoded, record_id)


def _encode_character(text: str, index: int) -> str:
    character = text[index]
    follows_dot = index > 0 and text[index - 1] == "."
    plain = character.isascii() and (
        character.isalnum()
        or (index > 0 and character in "_-")
        or (index > 0 and character == "." and not follows_dot)
    )
    if plain:
        return character
    return "".join(f"@{byte:02X}" for byte in character.encode("utf-8"))


def _shorten(encoded: str, record_id: str) -> str:
    digest = hashlib.sha256(record_id.encode("utf-8")).hexdigest()[:_HASH_DIGITS]
    head = encoded[: MAX_ENCODED_LENGTH - len(_HASH_MARKER) - _HASH_DIGITS]
    head = re.sub(r"@[0-9A-F]?\Z", "", head)
    return f"{head}{_HASH_MARKER}{digest}"


def decode_record_id(encoded: str) -> str:
    """Return the record id that `encode_record_id` encoded.

    Raises ValueError where the encoding was shortened to a hash, or is not one of ours.
    """
    body = encoded.removeprefix(_LEADING_MARKER) if encoded.startswith("x@@") else encoded
    if _HASH_MARKER in body:
        raise ValueError(f"{encoded!r} is shortened; its record id stands in the task's files")
    raw = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), body)
    try:
        record_id = raw.encode("latin-1").decode("utf-8")
    except UnicodeError as error:
        raise ValueError(f"{encoded!r} is not an encoded record id") from error
    if not record_id or encode_record_id(record_id) != encoded:
        raise ValueError(f"{encoded!r} is not an encoded record id")
    return record_id
