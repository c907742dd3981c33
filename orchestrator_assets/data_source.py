"""Where a data set lies: a file, a folder of files, or a URL that fsspec can read.

Everything is read at once and hashed, so that whoever asks whether a data set has changed and
whoever parses it look at the same bytes. Modification times say nothing: copies and checkouts
change them, and object stores round them.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import fsspec

from orchestrator_assets.errors import ConfigurationError, Fault

DataSource = Path | str
"""A local path, or a URL as text."""

JSON_SUFFIXES = frozenset({".json"})
JSON_LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
YAML_SUFFIXES = frozenset({".yaml", ".yml"})
DATA_SET_SUFFIXES = JSON_SUFFIXES | JSON_LINES_SUFFIXES | YAML_SUFFIXES

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
_LOCAL_SCHEMES = ("file://", "local://")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a data set. `name` is its path or URL, fit to be shown: without secrets."""

    name: DataSource
    suffix: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SourceContent:
    """All files of a data set, in name order, and the SHA-256 of their names and contents."""

    files: tuple[SourceFile, ...]
    sha256: str


def as_data_source(value: DataSource) -> DataSource:
    """Return a URL as text and anything else as a path; `file://` URLs are paths too."""
    text = str(value)
    for scheme in _LOCAL_SCHEMES:
        if text.startswith(scheme):
            return Path(text.removeprefix(scheme))
    return text if isinstance(value, str) and _URL.match(value) else Path(value)


def shown_source(source: DataSource) -> str:
    """Return the source for people: a URL without credentials and without its signature."""
    if isinstance(source, Path):
        return str(source)
    parts = urlsplit(source)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def source_name(source: DataSource) -> str:
    """Return the last part of the source's name."""
    return posixpath.basename(shown_source(source).rstrip("/")) or shown_source(source)


def read_source(source: DataSource) -> SourceContent:
    """Read a data set's file, or all data-set files directly in its folder.

    Raises ConfigurationError where there is nothing to read, or it can't be read.
    """
    files = tuple(_read_path(source) if isinstance(source, Path) else _read_url(source))
    digest = hashlib.sha256()
    for file in files:
        # With a single file, this is the hash of the file itself, as any tool computes it.
        if len(files) > 1:
            name = posixpath.basename(str(file.name))
            digest.update(f"{name}\0{len(file.content)}\0".encode())
        digest.update(file.content)
    return SourceContent(files, digest.hexdigest())


def _read_path(path: Path) -> Iterator[SourceFile]:
    try:
        if not path.is_dir():
            yield SourceFile(path, path.suffix.lower(), path.read_bytes())
            return
        names = [each for each in path.iterdir() if _is_data_set_name(each.name)]
        if not names:
            raise _empty_folder(path)
        for each in sorted(names):
            yield SourceFile(each, each.suffix.lower(), each.read_bytes())
    except OSError as error:
        place = error.filename or path
        raise ConfigurationError(
            [Fault(Path(place), "", f"can't be read: {error.strerror}")]
        ) from error


def _read_url(url: str) -> Iterator[SourceFile]:
    shown = shown_source(url)
    try:
        files, path = fsspec.core.url_to_fs(url)
        # A file system may cache its listings, and this one is asked again and again.
        files.invalidate_cache()
        if _suffix(path) not in DATA_SET_SUFFIXES and files.isdir(path):
            yield from _read_remote_folder(files, path, shown)
        else:
            yield SourceFile(shown, _suffix(path), files.cat_file(path))
    except ConfigurationError:
        raise
    except ImportError as error:
        message = f"needs another package to be read: {error}; install it with pip"
        raise ConfigurationError([Fault(shown, "", message)]) from error
    except Exception as error:
        # Every file system has its own exceptions: HTTP's, botocore's, OSError.
        text = _without_secrets(f"{type(error).__name__}: {error}", url)
        raise ConfigurationError([Fault(shown, "", f"can't be read: {text}")]) from error


def _without_secrets(text: str, url: str) -> str:
    """Return what a file system says of a URL, of which it may repeat a part or all."""
    parts = urlsplit(url)
    for secret in (parts.query, parts.netloc.rpartition("@")[0]):
        if secret:
            text = text.replace(secret, "***")
    return text


def _read_remote_folder(files: Any, path: str, shown: str) -> Iterator[SourceFile]:
    found = sorted(
        entry["name"]
        for entry in files.ls(path, detail=True)
        if entry["type"] == "file" and _is_data_set_name(posixpath.basename(entry["name"]))
    )
    if not found:
        raise _empty_folder(shown)
    for each in found:
        name = f"{shown.rstrip('/')}/{posixpath.basename(each)}"
        yield SourceFile(name, _suffix(each), files.cat_file(each))


def _is_data_set_name(name: str) -> bool:
    # Editors and copiers park half-written files under hidden names.
    return not name.startswith(".") and _suffix(name) in DATA_SET_SUFFIXES


def _suffix(path: str) -> str:
    return posixpath.splitext(urlsplit(path).path)[1].lower()


def _empty_folder(place: DataSource) -> ConfigurationError:
    known = ", ".join(sorted(DATA_SET_SUFFIXES))
    return ConfigurationError([Fault(place, "", f"holds no data set; put in a file of {known}")])
