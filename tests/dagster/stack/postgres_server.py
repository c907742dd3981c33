"""A PostgreSQL server in a folder, from Debian's package `postgresql` or another installation."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_USER = "evaluations"
_START_SECONDS = 60
_STOP_SECONDS = 30


@dataclass(frozen=True)
class PostgresServer:
    """Where a server listens: a socket in a folder, no network."""

    socket_folder: Path

    @property
    def url(self) -> str:
        # Plain `postgresql://` is psycopg 3 to SQLAlchemy 2.1; dagster-postgres has psycopg2.
        return f"postgresql+psycopg2://{_USER}@/postgres?host={self.socket_folder}"


def postgres_programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`, None where they are not installed."""
    # Debian keeps them out of PATH, by version.
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(versions, key=lambda path: int(path.parts[-3]), default=None)
    if newest is not None:
        return newest.parent
    found = shutil.which("initdb")
    return None if found is None else Path(found).resolve().parent


@contextmanager
def running_postgres(programs: Path) -> Iterator[PostgresServer]:
    """Start a server with an empty database, and stop it at the end.

    It refuses to run as root, for whom it runs as `postgres` or, without such a user, `nobody`.
    """
    # Not in the test's own folder, which another user can't enter; and paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="postgres") as folder:
        data = Path(folder) / "data"
        data.mkdir(mode=0o700)
        account = _account()
        if account is not None:
            for path in (Path(folder), data):
                os.chown(path, account.pw_uid, account.pw_gid)
        become = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid}
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8"],
            check=True,
            capture_output=True,
            cwd=folder,
            **become,  # type: ignore[call-overload]
        )
        with (Path(folder) / "postgres.log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="],
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
                **become,  # type: ignore[call-overload]
            )
        try:
            _wait_until_ready(programs, Path(folder), server)
            yield PostgresServer(Path(folder))
        finally:
            # SIGINT: end what is connected, and shut down properly.
            server.send_signal(signal.SIGINT)
            server.wait(_STOP_SECONDS)


def _account() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("there is no user `postgres` and none `nobody` to run PostgreSQL as")


def _wait_until_ready(programs: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    command = [programs / "pg_isready", "-h", folder, "-q"]
    while subprocess.run(command, check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError((folder / "postgres.log").read_text())
        time.sleep(0.1)
